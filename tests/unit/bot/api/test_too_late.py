"""Approvals whose host stops waiting: hooks report before they tell it, and people can ask for another try."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from answerback.core.too_late import MAX_TEXT
from tests.unit.bot.api.conftest import Json, Serve, Served
from tests.unit.bot.api.test_deliveries import NOBODY, SECRET
from tests.unit.bot.api.test_personal_keys import create_link

APPROVAL: Json = {
    "name": "PermissionRequest",
    "dialect": "approval",
    "arguments": {"tool_name": "Bash", "tool_input": {"command": "touch a"}},
    "to": "web",
}
DENIED: Json = {"decision": "denied", "reason": "no_answer"}
ROLES = {"bot": "agent", "other": "agent", "front": "surface"}


async def post(api: Served, path: str, body: object, **headers: str) -> tuple[int, Json]:
    async with api.http.post(path, json=body, headers=headers) as response:
        return response.status, await response.json(content_type=None)


async def asked(api: Served, *, headers: dict[str, str] | None = None, **more: Any) -> Json:
    status, ask = await post(api, "/v1/asks", {**APPROVAL, **more}, **(headers or {}))
    assert status == 201, ask
    return ask


async def report(api: Served, ask: Json, body: object = None, **headers: str) -> tuple[int, Json]:
    return await post(api, f"/v1/asks/{ask['id']}/carried", body or DENIED, **headers)


async def retry(api: Served, ask: Json, **body: Any) -> tuple[int, Json]:
    return await post(api, f"/v1/asks/{ask['id']}/retry", body, **api.person)


@pytest.mark.rule("LATE-7")
async def test_a_report_ends_an_approval_and_repeats_change_nothing(api: Served) -> None:
    ask = await asked(api)
    status, ended = await report(api, ask)
    assert (status, ended["status"], ended["gave_up"]) == (200, "expired", "denied")
    assert ended["tool_result"]["structured"]["hookSpecificOutput"]["decision"]["behavior"] == (
        "deny"
    )
    status, again = await report(api, ask, {"decision": "denied"})
    assert (status, again | {"collected_at": None}) == (200, ended), (
        "the first report was collected"
    )
    assert (await api.act(ask, action="answer", value="allow"))[0] == 410
    assert (await api.get("/v1/answers"))[1]["answers"] == [], "the caller has it"
    _, record = await api.get(f"/v1/asks/{ask['id']}/record")
    last = record["entries"][-1]["ended"]
    assert (last["status"], last["gave_up"]) == ("expired", "denied")


@pytest.mark.rule("LATE-7")
@pytest.mark.parametrize("action", [{"action": "answer", "value": "allow"}, {"action": "reply"}])
async def test_a_person_who_was_faster_decides(api: Served, action: Json) -> None:
    ask = await asked(api)
    assert (await api.act(ask, **action))[0] == 200
    status, ended = await report(api, ask)
    assert (status, ended["id"], ended["gave_up"]) == (409, ask["id"], None)
    assert ended["tool_result"] is not None
    assert (await api.get("/v1/answers"))[1]["answers"] == [], "the caller has it"


@pytest.mark.rule("LATE-7")
async def test_an_approval_that_was_withdrawn_is_denied(api: Served) -> None:
    ask = await asked(api)
    async with api.http.delete(f"/v1/asks/{ask['id']}") as response:
        assert response.status == 200
    status, ended = await report(api, ask)
    assert (status, ended["status"]) == (200, "withdrawn")


@pytest.mark.rule("LATE-7")
async def test_only_a_denial_of_an_approval_can_be_reported(serve: Serve) -> None:
    async with serve(ROLES) as api:
        bot = api.bearer("bot")
        ask = await asked(api, headers=bot)
        for body in ({"decision": "allowed"}, {**DENIED, "reason": "other"}, {"more": 1}, [1]):
            assert (await report(api, ask, body, **bot))[0] == 422
        assert (await report(api, ask, **api.bearer("other")))[0] == 404
        assert (await report(api, ask, **api.bearer("front")))[0] == 403
        question = await api.asked(headers=bot)
        status, problem = await report(api, question, **bot)
        assert (status, problem["errors"][0]["code"]) == (422, "not_an_approval")
        assert (await api.get(f"/v1/asks/{question['id']}", **bot))[1]["status"] == "open"


@pytest.mark.rule("LATE-9", "LATE-10")
async def test_people_tell_the_agent_once_to_try_again(api: Served) -> None:
    ask = await asked(api, conversation="c1")
    await report(api, ask)
    status, body = await retry(api, ask, text="On staging.")
    assert (status, body["status"], body["revision"]) == (200, "expired", 2)
    assert body["tried_again"]["text"] == "On staging."
    status, problem = await retry(api, ask)
    assert (status, problem["errors"][0]["code"]) == (422, "tried_again")
    _, late = await api.get("/v1/answers?conversation=c1")
    (again,) = late["answers"]
    assert again == {
        "kind": "retry",
        "ask_id": ask["id"],
        "headline": "Run touch a",
        **body["tried_again"],
    }
    assert set(again) == {"kind", "ask_id", "headline", "text", "by", "at"}
    assert (await api.get("/v1/answers"))[1] == {"answers": [], "next": None}


@pytest.mark.rule("LATE-9")
async def test_who_was_asked_tells_the_agent_with_their_own_key(
    api: Served, tmp_path: Path
) -> None:
    ask = await asked(api, responders=["ann"])
    await report(api, ask)
    ann, eve = await create_link(tmp_path, "ann"), await create_link(tmp_path, "eve")
    assert (await post(api, f"/v1/asks/{ask['id']}/retry", {}, **eve))[0] == 404
    status, body = await post(api, f"/v1/asks/{ask['id']}/retry", {}, **ann)
    assert (status, body["tried_again"]["by"]["name"]) == (200, "ann")


@pytest.mark.rule("LATE-10")
async def test_another_try_is_no_event_for_a_webhook(serve: Serve) -> None:
    async with serve(callbacks=SECRET) as api:
        ask = await asked(api, callback={"url": NOBODY})
        await report(api, ask)
        _, ended = await api.get("/v1/deliveries")
        assert [row["type"] for row in ended["deliveries"]] == ["ask.expired"]
        assert (await retry(api, ask))[0] == 200
        _, after = await api.get("/v1/deliveries")
        assert [row["type"] for row in after["deliveries"]] == ["ask.expired"]


@pytest.mark.rule("LATE-9")
async def test_what_did_not_end_unanswered_cannot_be_tried_again(api: Served) -> None:
    answered, open_ = await asked(api), await asked(api)
    assert (await api.act(answered, action="answer", value="allow"))[0] == 200
    for ask in (answered, open_):
        status, problem = await retry(api, ask)
        assert (status, problem["errors"][0]["code"]) == (422, "nothing_to_try_again")
    denied = await asked(api)
    await report(api, denied)
    for text, code in (("x" * (MAX_TEXT + 1), "too_long"), (" ", "empty")):
        status, problem = await retry(api, denied, text=text)
        assert (status, problem["errors"][0]["code"]) == (422, code)
    assert (await retry(api, denied, text=3))[0] == 422
    assert (await retry(api, denied, text="x" * MAX_TEXT))[0] == 200


@pytest.mark.rule("LATE-9")
async def test_agents_and_people_who_were_not_asked_cannot_ask_for_another_try(
    serve: Serve,
) -> None:
    async with serve(ROLES) as api:
        ask = await asked(api, headers=api.bearer("bot"), to="web", responders=["ada"])
        await report(api, ask, **api.bearer("bot"))
        path = f"/v1/asks/{ask['id']}/retry"
        assert (await post(api, path, {}, **api.bearer("bot")))[0] == 403
        actor = {"actor": {"user_id": "bob"}}
        assert (await post(api, path, actor, **api.bearer("front")))[0] == 403
        actor = {"actor": {"user_id": "ada"}}
        assert (await post(api, path, actor, **api.bearer("front")))[0] == 200


@pytest.mark.rule("LATE-10")
async def test_an_outcome_among_the_late_answers_says_that_it_is_one(api: Served) -> None:
    ask = await asked(api)
    assert (await api.act(ask, action="answer", value="allow"))[0] == 200
    (late,) = (await api.get("/v1/answers"))[1]["answers"]
    assert (late["kind"], late["id"]) == ("outcome", ask["id"])


@pytest.mark.rule("LATE-8")
async def test_an_erased_approval_keeps_that_its_host_gave_up_but_not_what_people_said(
    api: Served,
) -> None:
    ask = await asked(api)
    await report(api, ask)
    await retry(api, ask, text="tellnobody")
    status, erased = await post(api, f"/v1/asks/{ask['id']}/erase", {}, **api.person)
    assert (status, erased["gave_up"], erased["tried_again"]["text"]) == (200, "denied", None)
    _, record = await api.get(f"/v1/asks/{ask['id']}/record")
    assert "tellnobody" not in str(record)
    assert (await api.get("/v1/answers"))[1]["answers"] == []


@pytest.mark.rule("LATE-8")
async def test_a_waiting_call_holds_the_lease(api: Served) -> None:
    ask = await asked(api, leased=True)
    waiting = asyncio.create_task(api.get(f"/v1/asks/{ask['id']}", Prefer="wait=60"))
    await api.waiters(1)
    stored = await api.running.service.get(ask["id"])
    assert stored is not None
    assert (stored.request.ends_with_caller, stored.attendance.wait_seconds) == (True, 60.0)
    await report(api, ask)
    assert (await waiting)[1]["gave_up"] == "denied"
