"""Submitting, waiting, listing and withdrawing, over real sockets."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import pytest
from pydantic import TypeAdapter
from yarl import URL

from answerback.api.wire import RecordPage
from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.service.ask_wire import AskBody
from answerback.service.question_routing import ToolRule
from answerback.service.submission_request import Route
from tests.service_support import WAIT
from tests.unit.bot.api.conftest import FORM, Json, Serve, Served, until

CALL: Json = {"name": "ask_user", "arguments": FORM, "to": "web"}


@pytest.mark.rule("API-20", "SUBMIT-1", "SUBMIT-14", "ASK-1")
async def test_a_new_ask_is_created_with_its_location_and_exact_shape(api: Served) -> None:
    names = {"conversation": "conv-7", "turn": "turn-3", "tool_call_id": "toolu_01"}
    own = {**names, "metadata": {"repo": "acme/api"}}
    async with api.http.post("/v1/asks", json=CALL | own) as response:
        ask = await response.json()
        assert response.status == 201
        assert response.headers["Location"] == f"/v1/asks/{ask['id']}"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
    TypeAdapter(AskBody).validate_python(ask)
    assert ask["status"] == "open"
    assert ask["surface"] == "web"
    assert {name: ask[name] for name in own} == own
    assert ask["prompt"]["question_id"] == "apply"
    assert await api.get(f"/v1/asks/{ask['id']}") == (200, ask)


@pytest.mark.rule("SUBMIT-3")
@pytest.mark.parametrize("same", [True, False])
async def test_a_repeated_key_returns_the_first_ask_only_for_the_same_json(
    api: Served, same: bool
) -> None:
    first = await api.asked(headers={"Idempotency-Key": "k"})
    # The same JSON with other key order and whitespace is the same body.
    again = json.dumps(dict(reversed(CALL.items())) if same else CALL | {"turn": "t"}, indent=3)
    headers = {"Idempotency-Key": "k", "Content-Type": "application/json; charset=UTF-8"}
    async with api.http.post("/v1/asks", data=again, headers=headers) as response:
        body = await response.json(content_type=None)
        assert (response.status, body.get("id")) == ((200, first["id"]) if same else (422, None))


@pytest.mark.rule("SUBMIT-3")
@pytest.mark.parametrize("key", ["", "x" * 256])
async def test_an_idempotency_key_has_1_to_255_characters(api: Served, key: str) -> None:
    headers = {"Idempotency-Key": key}
    async with api.http.post("/v1/asks", json=CALL, headers=headers) as response:
        assert response.status == 400
        assert (await response.json(content_type=None))["title"] == "Bad Idempotency-Key"


@pytest.mark.rule("API-3", "ERROR-1", "ERROR-2", "ERROR-4")
async def test_an_invalid_call_is_refused_with_every_error_and_a_tool_result(
    api: Served,
) -> None:
    questions: list[Any] = [
        {
            "id": "a",
            "text": "A?",
            "answer_type": "boolean",
            "when": {"question_id": "c", "equals": 1},
        },
        {"id": "a", "text": " ", "answer_type": "text"},
    ]
    body = {"name": "ask_user", "arguments": {"questions": questions}}
    async with api.http.post("/v1/asks", json=body) as response:
        assert response.status == 422
        assert response.content_type == "application/problem+json"
        problem = await response.json(content_type=None)
    assert problem["title"] == "Invalid ask_user call"
    assert [(e["pointer"], e["code"]) for e in problem["errors"]] == [
        ("/questions/0/when/question_id", "forward_reference"),
        ("/questions/1/id", "duplicate_id"),
        ("/questions/1/text", "empty"),
    ]
    assert problem["tool_result"]["is_error"]
    assert await api.get("/v1/asks") == (200, {"asks": [], "next": None})


@pytest.mark.rule("WAIT-1", "WAIT-2")
@pytest.mark.parametrize("method", ["post", "get"])
async def test_a_wait_returns_when_the_ask_ends(api: Served, method: str) -> None:
    headers = {"Prefer": "wait=10"}
    ask = await api.asked(headers={"Idempotency-Key": "k"})
    if method == "post":
        headers["Idempotency-Key"] = "k"
        request = api.http.post("/v1/asks", json=CALL, headers=headers)
    else:
        request = api.http.get(f"/v1/asks/{ask['id']}", headers=headers)
    waiting = asyncio.ensure_future(request)
    await api.waiters(1)
    await api.act(ask, action="answer", value=False)
    async with asyncio.timeout(WAIT), await waiting as response:
        assert response.status == 200
        assert response.headers["Preference-Applied"] == "wait=10"
        assert (await response.json())["status"] == "answered"


@pytest.mark.rule("WAIT-1", "WAIT-2")
@pytest.mark.parametrize("wait", ["0", "1"])
async def test_a_wait_that_times_out_returns_the_open_ask_with_202(api: Served, wait: str) -> None:
    async with api.http.post("/v1/asks", json=CALL, headers={"Prefer": f"wait={wait}"}) as response:
        assert response.status == 202
        assert response.headers["Preference-Applied"] == f"wait={wait}"
        assert "Location" in response.headers
        assert (await response.json())["status"] == "open"


@pytest.mark.rule("WAIT-1")
async def test_a_wait_for_an_ended_ask_returns_at_once(api: Served) -> None:
    ask = await api.asked()
    await api.act(ask, action="end_turn")
    async with asyncio.timeout(WAIT):
        status, body = await api.get(f"/v1/asks/{ask['id']}", Prefer="wait=300")
    assert (status, body["status"], body["end_turn"]) == (200, "turn_ended", True)


@pytest.mark.rule("WAIT-3")
async def test_a_caller_that_disconnects_leaves_no_waiter_and_loses_nothing(api: Served) -> None:
    ask = await api.asked()
    headers = {"Prefer": "wait=300"}
    waiting = asyncio.ensure_future(api.http.get(f"/v1/asks/{ask['id']}", headers=headers))
    await api.waiters(1)
    waiting.cancel()
    await api.waiters(0)
    assert (await api.act(ask, action="answer", value=False))[0] == 200


def copies_of(ask_id: str) -> int:
    """The number of copies of an ask in this process."""
    gc.collect()
    return sum(isinstance(one, Ask) and one.id == ask_id for one in gc.get_objects())


async def all_read(api: Served) -> bool:
    """Return True if all waiting callers have read the ask."""
    signals = api.running.service.signals
    return all(
        one.known is not None for what in signals.followed for one in signals.followers_of(what)
    )


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_waiters_hold_no_copy_of_the_ask(api: Served, method: str) -> None:
    ask = await api.asked()
    path, body, key = f"/v1/asks/{ask['id']}", None, {"Idempotency-Key": "one"}
    if method == "POST":
        path, body = "/v1/asks", CALL
        async with api.http.post(path, json=CALL, headers=key) as response:
            ask = await response.json()
    headers = {"Prefer": "wait=300", **key}
    waiting = [
        asyncio.ensure_future(api.http.request(method, path, json=body, headers=headers))
        for _ in range(12)
    ]
    await api.waiters(12)
    await until(lambda: all_read(api))

    async def released() -> bool:
        return copies_of(ask["id"]) < 6  # waiters hold none, and others only for a moment

    await until(released)
    await api.act(ask, action="end_turn")
    for each in waiting:
        async with asyncio.timeout(WAIT), await each as response:
            assert (response.status, (await response.json())["status"]) == (200, "turn_ended")


async def test_an_ask_that_cannot_be_read_after_a_wait_is_not_reported_as_missing(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_ask_id: str) -> None:
        raise StoreError("the disk failed")

    ask = await api.asked()
    path, headers = f"/v1/asks/{ask['id']}", {"Prefer": "wait=300"}
    waiting = asyncio.ensure_future(api.http.get(path, headers=headers))
    await api.waiters(1)
    await until(lambda: all_read(api))
    with monkeypatch.context() as broken:
        broken.setattr(api.running.service.store.asks, "get", fails)
        api.running.service.stop_waiting()
        async with asyncio.timeout(WAIT), await waiting as response:
            assert response.status == 503
            assert (await response.json())["title"] == "The database failed"


@pytest.mark.rule("WAIT-4")
async def test_when_the_service_stops_waiters_get_the_current_ask(serve: Serve) -> None:
    async with serve() as api:
        ask = await api.asked()
        headers = {"Prefer": "wait=300"}
        waiting = asyncio.ensure_future(api.http.get(f"/v1/asks/{ask['id']}", headers=headers))
        await api.waiters(1)
        api.running.service.stop_waiting()
        async with asyncio.timeout(WAIT), await waiting as response:
            assert response.status == 202
            assert await response.json() == ask


@pytest.mark.rule("API-7")
async def test_pages_are_linked_newest_first_and_filtered(api: Served) -> None:
    asks = [await api.asked(conversation=f"c{i % 2}") for i in range(5)]
    await api.act(asks[0], action="reply", text="later")
    ids = [ask["id"] for ask in reversed(asks)]
    found: list[str] = []
    path = "/v1/asks?limit=2"
    while path:
        async with api.http.get(path) as response:
            body = await response.json()
            found += [ask["id"] for ask in body["asks"]]
            link = response.links.get("next")
            path = URL(link["url"]).relative().human_repr() if link else ""
            assert bool(body["next"]) == bool(path)
    assert found == ids
    _, body = await api.get("/v1/asks?status=open&conversation=c0&surface=web")
    assert [ask["id"] for ask in body["asks"]] == [asks[4]["id"], asks[2]["id"]]
    _, body = await api.get("/v1/asks?surface=slack")
    assert body["asks"] == []


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("status=closed", "/status"),
        ("limit=0", "/limit"),
        ("limit=201", "/limit"),
        ("limit=many", "/limit"),
        ("colour=red", "/colour"),
    ],
)
async def test_an_invalid_query_is_refused_with_its_location(
    api: Served, query: str, where: str
) -> None:
    status, body = await api.get(f"/v1/asks?{query}")
    assert status == 400
    assert [error["pointer"] for error in body["errors"]] == [where]


@pytest.mark.rule("API-7")
@pytest.mark.parametrize("query", ["after=made-up", "limit=1&limit=2"])
async def test_an_invalid_cursor_and_a_duplicate_parameter_are_refused(
    api: Served, query: str
) -> None:
    status, body = await api.get(f"/v1/asks?{query}")
    assert (status, body["title"]) == (400, "Bad query")


@pytest.mark.rule("API-8")
async def test_an_ask_can_be_withdrawn_once(api: Served) -> None:
    ask = await api.asked()
    async with api.http.delete(f"/v1/asks/{ask['id']}") as response:
        assert response.status == 200
        assert (await response.json())["status"] == "withdrawn"
    async with api.http.delete(f"/v1/asks/{ask['id']}") as response:
        assert response.status == 410
        assert (await response.json(content_type=None))["ask"]["status"] == "withdrawn"


@pytest.mark.rule("API-9")
async def test_the_record_holds_every_step_and_is_paged(api: Served) -> None:
    ask = await api.asked()
    await api.act(ask, action="answer", value=True)
    await api.act(ask, action="back")
    await api.act(ask, action="answer", value=False)
    _, body = await api.get(f"/v1/asks/{ask['id']}/record")
    RecordPage.model_validate(body)
    kinds = [entry["type"] for entry in body["entries"]]
    assert kinds == [*(["request", "response"] * 3), "ended"]
    assert "backed" in body["entries"][3]["response"]
    _, first = await api.get(f"/v1/asks/{ask['id']}/record?limit=5")
    _, second = await api.get(f"/v1/asks/{ask['id']}/record?after={first['next']}")
    assert first["entries"] + second["entries"] == body["entries"]


@pytest.mark.rule("WALK-18", "API-9")
async def test_a_question_is_left_for_later_over_the_api(api: Served) -> None:
    options = [{"value": "x", "label": "X"}]
    questions = [{"id": name, "prompt": f"{name}?", "options": options} for name in "ab"]
    ask = await api.asked(name="question", arguments={"questions": questions})
    assert ask["prompt"]["has_next"] is True
    status, moved = await api.act(ask, action="next")
    assert (status, moved["prompt"]["question_id"], moved["answers"]) == (200, "b", {})
    status, answered = await api.act(moved, action="answer", value="x")
    assert (answered["prompt"]["question_id"], answered["prompt"]["has_next"]) == ("a", False)
    status, problem = await api.act(answered, action="next")
    assert (status, problem["errors"][0]["code"]) == (422, "nothing_to_move_on_to")
    status, ended = await api.act(answered, action="reply", text="no")
    assert (status, ended["status"], ended["answers"]) == (200, "cancelled", {"b": "x"})
    _, body = await api.get(f"/v1/asks/{ask['id']}/record")
    RecordPage.model_validate(body)
    responses = [each["response"] for each in body["entries"] if each["type"] == "response"]
    assert [[*each] for each in responses] == [["postponed"], ["answered"], ["cancelled"]]
    assert body["entries"][1]["question_id"] == "a"


@pytest.mark.rule("API-4")
@pytest.mark.parametrize(
    "path", ["/v1/asks/ask_none", "/v1/asks/ask_none/record", "/v1/asks/ask_none/events"]
)
async def test_an_ask_that_does_not_exist_is_404(api: Served, path: str) -> None:
    status, body = await api.get(path)
    assert (status, body["detail"]) == (404, "There is no ask with the id ask_none.")


async def test_a_key_that_is_not_text_is_refused_with_a_reason(api: Served) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", api.http._base_url.port)  # type: ignore[union-attr]  # set by the fixture
    body = json.dumps(CALL).encode()
    head = (
        b"POST /v1/asks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Idempotency-Key: caf\xe9\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    )
    writer.write(head % len(body) + body)
    reply = await reader.read()
    writer.close()
    assert reply.startswith(b"HTTP/1.1 400 ")
    assert b"Bad Idempotency-Key" in reply


@pytest.mark.rule("WAIT-3")
async def test_a_submission_is_stored_even_if_its_caller_disconnects(api: Served) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", api.http._base_url.port)  # type: ignore[union-attr]  # set by the fixture
    body = json.dumps(CALL).encode()
    head = (
        "POST /v1/asks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Idempotency-Key: gone\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    writer.transport.abort()

    async def stored() -> bool:
        return bool((await api.get("/v1/asks"))[1]["asks"])

    await until(stored)
    headers = {"Idempotency-Key": "gone"}
    async with api.http.post("/v1/asks", json=CALL, headers=headers) as response:
        assert response.status == 200


@pytest.mark.rule("SUBMIT-7")
async def test_widening_a_routes_responders_is_422_and_asks_nobody(
    serve: Serve,
) -> None:
    routes = {"ops": Route(to="web", responders=("U1", "@G1"))}
    async with serve(routes=routes) as api:
        too_many: tuple[object, ...] = ("anyone", [], ["U1", "U9"])
        for responders in too_many:
            body = {"name": "ask_user", "arguments": FORM, "to": "ops", "responders": responders}
            async with api.http.post("/v1/asks", json=body) as response:
                assert response.status == 422
                refused = await response.json(content_type=None)
            (error,) = refused["errors"]
            assert (error["pointer"], error["code"]) == ("/responders", "responders_forbidden")
            assert refused["tool_result"]["is_error"]
        assert (await api.get("/v1/asks"))[1]["asks"] == []
        for narrowed in (None, ["@G1"]):
            ask = await api.asked(to="ops", responders=narrowed)
            assert ask["status"] == "open"


KNOWN: Json = {"id": "known", "text": "Deploy?", "answer_type": "boolean"}
GIT: Json = {
    "tool": "git",
    "question": {"id": "force", "text": "Force push?", "answer_type": "boolean"},
}


@pytest.mark.rule("SURFACE-2")
@pytest.mark.parametrize(
    ("agent", "call", "who"),
    [
        ("ci", {}, "ci"),
        ("coder", {}, "The coder"),
        ("coder", {"name": "tool_question", "arguments": GIT}, "git"),
        ("coder", {"arguments": {"questions": [KNOWN]}}, "Deploy bot"),
        ("coder", {"name": "tool_question", "arguments": GIT | {"tool": "known"}}, "Known tool"),
    ],
)
async def test_the_asker_is_the_tools_label_the_agents_label_or_its_name(
    serve: Serve, agent: str, call: Json, who: str
) -> None:
    labels = {
        "ask_user": {"known": "Deploy bot"},
        "known": {"force": "Known tool"},
    }
    rules = {
        tool: ToolRule.model_validate({"questions": {i: {"prompt_label": label}}})
        for tool, by_id in labels.items()
        for i, label in by_id.items()
    }
    async with serve({"ci": "agent", "coder": "agent"}, {"coder": "The coder"}, tools=rules) as api:
        ask = await api.asked(headers=api.bearer(agent), **call)
        assert ask["asked_by"] == who


@pytest.mark.rule("SURFACE-2")
async def test_without_tokens_the_asker_is_the_assistant(api: Served) -> None:
    assert (await api.asked())["asked_by"] == "Assistant"
    assert (await api.asked(name="tool_question", arguments=GIT))["asked_by"] == "git"
