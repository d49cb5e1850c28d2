"""Only the approved call may run, once, and nothing else: each way around an approval is refused, with evidence."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from answerback.core.canonical_json import canonical
from answerback_receipts.checks import check
from tests.unit.bot.api.conftest import Json, Serve, Served, until
from tests.unit.bot.api.test_receipts import keys_of
from tests.unit.bot.api.test_too_late import APPROVAL, asked, post, report

pytestmark = pytest.mark.rule("RCPT-7", "RCPT-11")
ALLOW: Json = {"action": "answer", "value": "allow"}
DENY: Json = {"action": "answer", "value": "deny"}


async def refused(api: Served, ask: Json) -> None:
    """Check that an ask opens no door, and that its receipt, if it has ended, says that it was not allowed."""
    status, problem = await post(api, f"/v1/asks/{ask['id']}/consume", {})
    assert (status, problem["errors"][0]["code"]) == (409, "not_approved")
    status, body = await api.get(f"/v1/asks/{ask['id']}/receipt")
    if status == 200:
        assert check(body, await keys_of(api)).faults == []  # type: ignore[arg-type]  # it is one
        payload = body["receipt"]["payload"]
        assert not set(payload["decisions"].values()) & {"allow_once", "allow_always"}
    else:
        assert (status, body["errors"][0]["code"]) == (409, "open")


async def test_nothing_runs_without_an_approval(api: Served) -> None:
    await refused(api, await asked(api))


async def test_what_was_denied_does_not_run(api: Served) -> None:
    ask = await asked(api)
    assert (await api.act(ask, **DENY))[0] == 200
    await refused(api, ask)
    assert (await api.act(ask, **ALLOW))[0] == 410


async def test_a_receipt_is_bound_to_the_exact_call(api: Served) -> None:
    ask = await asked(api)
    assert (await api.act(ask, **ALLOW))[0] == 200
    _, body = await api.get(f"/v1/asks/{ask['id']}/receipt")
    key = body["receipt"]["payload"]["arguments"]
    salt, arguments = body["disclosed"][key]
    assert arguments == APPROVAL["arguments"]
    for changed in (
        {"command": "touch b"},
        {"command": "touch a "},
        {"command": "touch a", "x": 1},
    ):
        other = {**APPROVAL["arguments"], "tool_input": changed}
        found = hashlib.sha256(canonical([salt, other])).hexdigest()
        assert f"sha256:{found}" != key
        swapped = {**body, "disclosed": {**body["disclosed"], key: [salt, other]}}
        faults = check(swapped, await keys_of(api)).faults  # type: ignore[arg-type]  # it is one
        assert any("was changed" in fault for fault in faults)


async def test_an_approval_is_not_replayed(api: Served) -> None:
    ask, again = await asked(api), await asked(api)
    assert (await api.act(ask, **ALLOW))[0] == 200
    assert (await post(api, f"/v1/asks/{ask['id']}/consume", {}))[0] == 200
    status, problem = await post(api, f"/v1/asks/{ask['id']}/consume", {})
    assert (status, problem["errors"][0]["code"]) == (409, "consumed")
    await refused(api, again)  # the same call once more is another approval


async def test_an_approval_that_expired_is_not_given_later(api: Served) -> None:
    ask = await asked(api, expires_in=0.05)

    async def has_ended() -> bool:
        return bool((await api.get(f"/v1/asks/{ask['id']}"))[1]["status"] == "expired")

    await until(has_ended)
    assert (await api.act(ask, **ALLOW))[0] == 410
    await refused(api, ask)
    given_up = await asked(api)
    assert (await report(api, given_up))[0] == 200
    assert (await api.act(given_up, **ALLOW))[0] == 410
    await refused(api, given_up)


async def test_steps_out_of_order_count_for_nothing(api: Served) -> None:
    ask = await asked(api)
    assert (await api.act(ask, **ALLOW, revision=ask["revision"] + 1))[0] == 409
    await refused(api, ask)
    assert (await api.act(ask, **ALLOW, revision=ask["revision"]))[0] == 200
    for late in (DENY, ALLOW, {"action": "end_turn"}):
        assert (await api.act(ask, **late))[0] == 410
    assert (await post(api, f"/v1/asks/{ask['id']}/consume", {}))[0] == 200
    _, record = await api.get(f"/v1/asks/{ask['id']}/record")
    kinds = [entry["type"] for entry in record["entries"]]
    assert kinds == ["request", "response", "ended", "note"], "asked, answered, ended, consumed"
    times = [entry["at"] for entry in record["entries"]]
    assert times == sorted(times)


async def test_a_denial_is_not_routed_around(serve: Serve) -> None:
    async with serve({"bot": "agent", "other": "agent", "front": "surface"}) as api:
        bot, other = api.bearer("bot"), api.bearer("other")
        ask = await asked(api, headers=bot)
        assert (await api.act(ask, **DENY))[0] == 200
        elsewhere = await asked(api, headers=other)
        for headers in (bot, other):
            action = {**ALLOW, "actor": {"user_id": "u", "name": "U"}}
            assert (await post(api, f"/v1/asks/{elsewhere['id']}/actions", action, **headers))[
                0
            ] in {
                403,
                404,
            }
        assert (await post(api, f"/v1/asks/{ask['id']}/consume", {}, **bot))[0] == 409
        assert (await api.act(elsewhere, **ALLOW))[0] == 200
        assert (await post(api, f"/v1/asks/{elsewhere['id']}/consume", {}, **bot))[0] == 404
        assert (await post(api, f"/v1/asks/{elsewhere['id']}/consume", {}, **other))[0] == 200


@pytest.mark.parametrize("action", [{"action": "end_turn"}, {"action": "reply", "text": "Wait."}])
async def test_an_interrupt_stops_what_was_asked_for(api: Served, action: Json) -> None:
    ask = await asked(api)
    status, ended = await api.act(ask, **action)
    assert (status, ended["status"]) == (200, "turn_ended" if len(action) == 1 else "cancelled")
    assert '"allow"' not in json.dumps(ended["tool_result"])
    await refused(api, ask)
    withdrawn = await asked(api)
    async with api.http.delete(f"/v1/asks/{withdrawn['id']}") as response:
        assert response.status == 200
    await refused(api, withdrawn)


async def test_the_evidence_is_complete_or_proves_nothing(api: Served) -> None:
    ask = await asked(api)
    assert (await api.act(ask, **ALLOW))[0] == 200
    _, body = await api.get(f"/v1/asks/{ask['id']}/receipt")
    keys, payload = await keys_of(api), body["receipt"]["payload"]
    given: Any = payload["answered_by"]["decision"]
    for expected in (payload["asked_at"], payload["ended_at"], given["at"], given["by"]["surface"]):
        assert expected
    assert {payload["headline"], payload["arguments"], payload["view"]["digest"]} <= set(
        body["disclosed"]
    )
    for name in payload:
        less = {key: value for key, value in payload.items() if key != name}
        part = {**body, "receipt": {**body["receipt"], "payload": less}}
        verdict = check(part, keys)  # type: ignore[arg-type]  # it is one
        assert verdict.faults, name
        assert verdict.proves == []


WRITTEN: tuple[str, ...] = (
    "1.5000000000000000000001",
    "0.1000000000000000055511151231257827",
    "12345678901234567890.25",
    "1.50",
    "15e-1",
    "-0",
    "1.5",
)


@pytest.mark.rule("APPROVAL-12")
@pytest.mark.parametrize("number", WRITTEN)
async def test_people_decide_on_a_number_as_the_host_wrote_it(api: Served, number: str) -> None:
    to = f"""["é", {{"n": {number}}}]"""
    used = f"""{{"amount": {number}, "to": {to}}}"""
    call = f"""{{"tool_name": "mcp__bank__pay", "tool_input": {used}}}"""
    for arguments in (call, json.dumps(call)):
        body = f"""{{"name": "PermissionRequest", "to": "web", "arguments": {arguments}}}"""
        headers = {"Content-Type": "application/json"}
        async with api.http.post("/v1/asks", data=body, headers=headers) as response:
            ask = await response.json()
            assert response.status == 201, ask
        shown = (await api.get(f"/v1/asks/{ask['id']}"))[1]["prompt"]["context"]
        assert f"amount: {number}\n" in shown
        assert f"n: {number}\n" in shown
        assert "é" in shown
