"""Many permissions decided at once: each as a single action would be, and nothing for agents."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.api.actions import BatchResults
from answerback.core.errors import CommitUnknownError
from answerback.service.batches import MAX_BATCH
from tests.unit.bot.api.conftest import FORM, Json, Serve, Served

ROLES = {"bot": "agent", "front": "surface"}
ONCE = "allow_once"


def approval(command: str = "ls", **more: Any) -> Json:
    arguments = {"tool_name": "Bash", "tool_input": {"command": command}}
    return {"name": "PermissionRequest", "dialect": "approval", "arguments": arguments, **more}


async def batch(
    api: Served, asks: list[Json], decision: str = ONCE, **more: Any
) -> tuple[int, Json]:
    headers = more.pop("headers", api.person)
    named = [{"id": ask["id"], "revision": ask["revision"]} for ask in asks]
    body = {"asks": named, "decision": decision, **more}
    async with api.http.post("/v1/batches", json=body, headers=headers) as response:
        return response.status, await response.json()


def statuses(answer: Json) -> list[int]:
    BatchResults.model_validate(answer)
    return [each["status"] for each in answer["results"]]


@pytest.mark.rule("BATCH-1")
@pytest.mark.parametrize(("decision", "value"), [(ONCE, "allow"), ("deny", "deny")])
async def test_each_permission_is_decided_as_by_a_single_action(
    api: Served, decision: str, value: str
) -> None:
    asks = [await api.asked(**approval(f"make {n}")) for n in range(5)]
    status, answer = await batch(api, asks, decision)
    assert (status, statuses(answer)) == (200, [200] * 5)
    for ask, result in zip(asks, answer["results"], strict=True):
        assert (result["id"], result["ask"]["id"]) == (ask["id"], ask["id"])
        assert result["ask"]["answers"] == {"decision": value}
        assert result["ask"]["sources"] == {"decision": "human"}
        _, record = await api.get(f"/v1/asks/{ask['id']}/record")
        by = record["entries"][1]["response"]["answered"]["by"]
        assert by["user_id"] == "operator"


@pytest.mark.rule("BATCH-1", "BATCH-2")
async def test_every_refusal_is_the_single_actions_and_stops_no_other(api: Served) -> None:
    good, stale, ended, question = [
        await api.asked(**each) for each in (approval(), approval(), approval(), {})
    ]
    missing = {"id": "ask_0123456789abcdef01234567", "revision": 1}
    stale["revision"] += 1
    assert (await api.act(ended, action="answer", value="deny"))[0] == 200
    only_once = approval() | {
        "name": "session/request_permission",
        "arguments": {
            "toolCall": {"toolCallId": "c1", "rawInput": {"command": "make"}},
            "options": [
                {"optionId": "a", "name": "Once", "kind": "allow_once"},
                {"optionId": "b", "name": "Once, in a copy", "kind": "allow_once"},
            ],
        },
    }
    several = await api.asked(**only_once)
    _, answer = await batch(api, [stale, ended, question, missing, several, good])
    assert statuses(answer) == [409, 409, 422, 404, 422, 200]
    codes = [
        each["error"]["errors"][0]["code"] for each in answer["results"] if each["status"] == 422
    ]
    assert codes == ["not_an_approval", "no_such_option"]
    assert answer["results"][0]["ask"]["status"] == "open"
    assert answer["results"][3]["error"]["title"] == "Not found"
    _, answer = await batch(api, [several, question], "deny")
    assert statuses(answer) == [422, 422]
    _, ended_now = await api.get(f"/v1/asks/{ended['id']}")
    _, answer = await batch(api, [ended_now])
    assert statuses(answer) == [410]


@pytest.mark.rule("BATCH-2")
async def test_a_malformed_batch_decides_nothing(api: Served) -> None:
    ask = await api.asked(**approval())
    twice = [ask, {**ask, "revision": 2}]
    many = [{"id": f"ask_{n:024x}", "revision": 1} for n in range(MAX_BATCH)]
    for asks, more in (
        (twice, {}),
        ([ask, *many], {}),
        ([], {}),
        ([ask], {"decision": "allow_always"}),
        ([ask], {"value": "allow"}),
        ([{**ask, "revision": True}], {}),
    ):
        status, problem = await batch(api, asks, **more)
        assert (status, problem["title"]) == (422, "Invalid batch"), more
        assert problem["errors"]
    assert (await api.get(f"/v1/asks/{ask['id']}"))[1] == ask
    status, answer = await batch(api, [ask, *many[1:]])
    assert (status, statuses(answer)) == (200, [200] + [404] * (MAX_BATCH - 1))


@pytest.mark.rule("BATCH-2")
async def test_what_others_confirm_is_never_in_a_batch(serve: Serve) -> None:
    async with serve() as api:
        ask = await api.asked(**approval(responders="anyone", confirmations=1))
        for decision in (ONCE, "deny"):
            _, answer = await batch(api, [ask], decision)
            [result] = answer["results"]
            assert result["status"] == 422
            assert result["error"]["errors"][0]["code"] == "not_in_a_batch"


@pytest.mark.rule("BATCH-3")
async def test_an_agents_token_decides_nothing_and_a_front_end_names_the_person(
    serve: Serve,
) -> None:
    async with serve(ROLES) as api:
        mine = approval(responders=["ann"], headers=api.bearer("bot"))
        asks = [await api.asked(**mine), await api.asked(**mine | {"responders": ["bob"]})]
        assert (await batch(api, asks, headers=api.bearer("bot")))[0] == 403
        assert (await batch(api, asks, headers={}))[0] == 401
        front = api.bearer("front")
        _, answer = await batch(api, asks, headers=front)
        assert statuses(answer) == [422, 422], "nobody is named"
        _, answer = await batch(api, asks, headers=front, actor={"user_id": "ann"})
        assert statuses(answer) == [200, 403]
        assert answer["results"][0]["ask"]["ended_by"]["user_id"] == "ann"
    async with serve() as api:
        assert (await batch(api, asks, headers={}))[0] == 401


@pytest.mark.rule("BATCH-2")
async def test_a_repeated_batch_decides_once(api: Served) -> None:
    asks = [await api.asked(**approval(f"make {n}")) for n in range(3)]
    headers = {**api.person, "Idempotency-Key": "k1"}
    first = await batch(api, asks, headers=headers)
    assert statuses(first[1]) == [200] * 3
    assert await batch(api, asks, headers=headers) == first
    _, answer = await batch(api, asks, "deny", headers=headers)
    assert statuses(answer) == [422] * 3
    assert "used for another body" in answer["results"][0]["error"]["title"]


@pytest.mark.rule("BATCH-2")
async def test_a_database_that_fails_at_one_ask_stops_no_other(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = [await api.asked(**approval(f"make {n}")) for n in range(3)]
    apply = type(api.running.service).apply

    async def failing(self: Any, intent: Any, *given: Any, **more: Any) -> Any:
        if intent.ask_id == asks[1]["id"]:
            raise CommitUnknownError("the disk")
        return await apply(self, intent, *given, **more)

    monkeypatch.setattr(type(api.running.service), "apply", failing)
    _, answer = await batch(api, asks)
    assert statuses(answer) == [200, 503, 200]
    assert answer["results"][1]["error"]["title"] == "Outcome unknown"


async def test_the_forms_of_other_dialects_are_no_permissions(api: Served) -> None:
    ask = await api.asked(FORM)
    _, answer = await batch(api, [ask])
    assert statuses(answer) == [422]


async def test_what_is_wrong_with_a_batch_is_said_in_terms_of_json(api: Served) -> None:
    one = {"id": "ask_0", "revision": "1"}
    for asks, errors in (
        ([one], [("/asks/0/revision", "asks.0.revision must be a whole number.")]),
        ([], [("/asks", "asks must have a length of at least 1.")]),
        ([{**one, "revision": 1}] * 101, [("/asks", "asks may have a length of at most 100.")]),
    ):
        body = {"asks": asks, "decision": "deny"}
        async with api.http.post("/v1/batches", json=body, headers=api.person) as response:
            found = (await response.json(content_type=None))["errors"]
        assert [(error["pointer"], error["message"]) for error in found] == errors
