"""Edit, then allow, through the API: who may, what is allowed then, and what stays of it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from answerback.runtime.config import PersonSettings
from answerback.service.submission_request import Route
from answerback_receipts.checks import check
from tests.unit.bot.api.conftest import Json, Serve, Served
from tests.unit.bot.api.test_grants import act, record
from tests.unit.bot.api.test_receipts import keys_of

ROLES = {"ci": "agent", "console": "surface"}
COMMAND = "rm -rf build"
BETTER = "rm -rf build/tmp"
INPUT = (
    '{"command": "rm -rf build", "timeout": 1.50, "id": 12345678901234567890, "why": "caf\\u00e9"}'
)
"""As a host wrote it: numbers that no double holds as they are written."""
ALLOW: Json = {"action": "answer", "value": "allow"}


def route(**more: object) -> Route:
    return Route.model_validate({"to": "web", "responders": ["ann", "bob"], "edit": True, **more})


@asynccontextmanager
async def serving(serve: Serve, **more: Any) -> AsyncIterator[Served]:
    """A service whose route `ops` lets people change a call, and whose route `two` has others confirm it."""
    routes = {
        "ops": route(),
        "plain": route(edit=False),
        "two": route(confirmations=1),
        "again": route(grants={}),
    }
    people = {name: PersonSettings(ids=(f"web:{name}",)) for name in ("ann", "bob", "owen")}
    async with serve(ROLES, routes=routes, people=people, **more) as api:
        yield api


@pytest.fixture
async def api(serve: Serve) -> AsyncIterator[Served]:
    async with serving(serve) as served:
        yield served


async def submit(api: Served, tool_input: str = INPUT, **more: object) -> Json:
    """Ask for permission as a hook does that takes an edited call."""
    fields = {"name": "PermissionRequest", "to": "ops", "takes_edited": True, **more}
    arguments = fields.pop("arguments", f'{{"tool_name": "Bash", "tool_input": {tool_input}}}')
    body = f'{json.dumps(fields)[:-1]}, "arguments": {arguments}}}'
    headers = {**api.bearer("ci"), "Content-Type": "application/json"}
    async with api.http.post("/v1/asks", data=body, headers=headers) as response:
        assert response.status == 201, await response.text()
        ask: Json = await response.json()
        return ask


def edited(**more: object) -> Json:
    """The arguments with another command."""
    return {**json.loads(INPUT), "command": BETTER, **more}


async def read(api: Served, ask: Json, reader: str = "ci") -> Json:
    _, found = await api.get(f"/v1/asks/{ask['id']}", **api.bearer(reader))
    return found


async def consume(api: Served, ask: Json, **body: object) -> tuple[int, Json]:
    path, sent = f"/v1/asks/{ask['id']}/consume", {"json": body} if body else {}
    async with api.http.post(path, headers=api.bearer("ci"), **sent) as response:  # type: ignore[arg-type]  # as given
        return response.status, await response.json(content_type=None)


def code_of(refused: Json) -> str:
    return str(refused["errors"][0]["code"])


@pytest.mark.rule("EDIT-1", "EDIT-4", "EDIT-6")
async def test_a_person_allows_another_command_and_everything_else_keeps_its_bytes(
    api: Served,
) -> None:
    ask = await submit(api)
    prompt = ask["prompt"]
    assert prompt["editable"] is True
    assert "1.50" in prompt["arguments"]
    status, done = await act(api, ask, **ALLOW, edited=edited(), revision=ask["revision"])
    assert (status, done["status"]) == (200, "answered"), done
    now = done["edited"]
    assert now["arguments"] == edited()
    assert now["written"] == ask["prompt"]["arguments"].replace(COMMAND, BETTER)
    assert '"timeout": 1.50, "id": 12345678901234567890' in now["written"]
    assert now["digest"] == f"sha256:{hashlib.sha256(now['written'].encode()).hexdigest()}"
    assert now["difference"] == f'command: "{COMMAND}" → "{BETTER}"'
    decision = done["tool_result"]["structured"]["hookSpecificOutput"]["decision"]
    assert decision == {"behavior": "allow", "updatedInput": edited()}
    assert done["headline"] == f"Run {BETTER}"
    [response] = [each for each in await record(api, ask) if each["type"] == "response"]
    assert response["response"]["answered"]["edited"] == now
    assert (await read(api, ask))["edited"] == now


@pytest.mark.rule("EDIT-6")
async def test_no_key_of_the_call_looks_like_another_change(api: Served) -> None:
    key = "why: 1 → 2\ncommand"
    ask = await submit(api, json.dumps({"command": "ls", key: "a"}))
    _, done = await act(api, ask, **ALLOW, edited={"command": "ls", key: "b"})
    [line] = done["edited"]["difference"].split("\n")
    assert line == f'{json.dumps(key)}: "a" → "b"'


@pytest.mark.rule("EDIT-4")
async def test_a_program_that_rounds_numbers_sends_the_call_as_a_text(api: Served) -> None:
    ask = await submit(api)
    text = ask["prompt"]["arguments"].replace(COMMAND, BETTER)
    status, done = await act(api, ask, **ALLOW, edited=text)
    assert status == 200, done
    assert done["edited"]["written"] == text


@pytest.mark.rule("EDIT-4")
async def test_a_number_that_only_rounds_to_the_same_one_is_a_change(api: Served) -> None:
    ask = await submit(api, '{"command": "ls", "id": 9007199254740993}')
    _, done = await act(api, ask, **ALLOW, edited={"command": "ls", "id": 9007199254740992})
    assert done["edited"]["difference"] == "id: 9007199254740993 → 9007199254740992"
    assert '"id": 9007199254740992' in done["edited"]["written"]


@pytest.mark.rule("EDIT-4")
async def test_a_call_that_nobody_changed_was_allowed_as_it_is(api: Served) -> None:
    ask = await submit(api)
    same = json.dumps(dict(reversed(json.loads(INPUT).items())))
    status, done = await act(api, ask, **ALLOW, edited=same)
    assert (status, done["edited"]) == (200, None)
    decision = done["tool_result"]["structured"]["hookSpecificOutput"]["decision"]
    assert decision == {"behavior": "allow"}
    assert (await consume(api, ask))[0] == 200


NOT_OFFERED: dict[str, Json] = {
    "the route does not allow it": {"to": "plain"},
    "the caller takes no other arguments": {"takes_edited": False},
    "a place": {"to": "web", "responders": ["ann"]},
    "anyone may answer": {"to": "web", "responders": "anyone"},
    "a question": {"name": "ask_user", "arguments": '{"question": "Why?"}'},
    "a host that takes none": {
        "name": "session/request_permission",
        "arguments": json.dumps(
            {
                "toolCall": {"name": "Bash", "kind": "execute", "rawInput": {"command": "ls"}},
                "options": [
                    {"optionId": "allow", "name": "Yes", "kind": "allow_once"},
                    {"optionId": "no", "name": "No", "kind": "reject_once"},
                ],
            }
        ),
    },
    "nothing is known": {"arguments": '{"tool_name": "ExitPlanMode", "tool_input": {}}'},
}


@pytest.mark.rule("EDIT-1", "EDIT-2")
@pytest.mark.parametrize("more", NOT_OFFERED.values(), ids=NOT_OFFERED)
async def test_it_is_not_offered_and_not_taken(api: Served, more: Json) -> None:
    ask = await submit(api, **more)
    assert (ask["prompt"]["editable"], ask["prompt"]["arguments"]) == (False, None)
    action = {**ALLOW, "edited": edited(), "unseen": True}
    status, refused = await act(api, ask, **action)
    assert (status, code_of(refused)) == (422, "not_editable")
    assert (await read(api, ask))["revision"] == ask["revision"]


@pytest.mark.rule("EDIT-2")
async def test_a_route_on_which_anyone_may_answer_is_refused() -> None:
    for who in ({"responders": "anyone"}, {"responders": ["ann", "anyone"]}):
        with pytest.raises(ValueError, match="edit = true needs named responders"):
            route(**who)
    with pytest.raises(ValueError, match="edit = true needs named responders"):
        route(escalate={"after": 5, "responders": "anyone"})


@pytest.mark.rule("EDIT-3")
@pytest.mark.parametrize(
    ("action", "code"),
    [
        ({"value": "deny"}, "not_editable"),
        ({"value": "always:1"}, "not_editable"),
        ({"value": "nothing"}, "not_editable"),
        ({"grant": {"match": "command", "minutes": 15, "uses": 1}}, "not_editable"),
        ({"remember": True}, "not_editable"),
        ({"edited": []}, "wrong_type"),
        ({"edited": 5}, "wrong_type"),
        ({"edited": "[1]"}, "wrong_type"),
        ({"edited": "{"}, "wrong_type"),
        ({"edited": '{"command": "ls", "command": "rm"}'}, "wrong_type"),
        ({"edited": '{"command": "\\ud800"}'}, "wrong_type"),
        ({"edited": f'{{"command": {"[" * 70}{"]" * 70}}}'}, "wrong_type"),
        ({"edited": {"command": "x" * 140_000}}, "too_long"),
    ],
)
async def test_what_is_no_edit_is_refused_and_changes_nothing(
    api: Served, action: Json, code: str
) -> None:
    suggestion = {
        "type": "addRules",
        "behavior": "allow",
        "rules": [{"toolName": "Bash"}],
        "destination": "session",
    }
    arguments = {
        "tool_name": "Bash",
        "tool_input": {"command": COMMAND},
        "permission_suggestions": [suggestion],
    }
    ask = await submit(api, to="again", arguments=json.dumps(arguments))
    status, refused = await act(api, ask, **{**ALLOW, "edited": {"command": BETTER}, **action})
    assert (status, code_of(refused)) == (422, code)
    assert (await read(api, ask))["revision"] == ask["revision"]


@pytest.mark.rule("EDIT-3")
async def test_a_doubled_key_is_refused_before_anything_is_read(api: Served) -> None:
    ask = await submit(api)
    body = '{"action":"answer","value":"allow","actor":{"user_id":"ann"},"edited":{"command":"ls","command":"rm"}}'
    headers = {**api.bearer("console"), "Content-Type": "application/json"}
    path = f"/v1/asks/{ask['id']}/actions"
    async with api.http.post(path, data=body, headers=headers) as response:
        assert response.status == 400
    assert (await read(api, ask))["status"] == "open"


@pytest.mark.rule("EDIT-3", "EDIT-10")
async def test_the_schema_of_the_call_holds_for_a_changed_one(api: Served) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
    call = {
        "name": "send",
        "args": {"to": "ann"},
        "allowed_decisions": ["approve", "edit", "reject"],
        "args_schema": schema,
    }
    ask = await submit(api, name="tool_approval", arguments=json.dumps(call))
    assert [each["value"] for each in ask["prompt"]["options"]] == ["approve", "reject"]
    approve: Json = {"action": "answer", "value": "approve"}
    status, refused = await act(api, ask, **approve, edited={"to": 5})
    assert (status, refused["errors"][0]["pointer"]) == (422, "/edited/to")
    _, done = await act(api, ask, **approve, edited={"to": "bob"})
    edit = {"type": "edit", "edited_action": {"name": "send", "args": {"to": "bob"}}}
    assert done["tool_result"]["structured"] == edit


@pytest.mark.rule("EDIT-6", "EDIT-10", "APPROVAL-8")
async def test_of_several_calls_each_may_be_changed(api: Served) -> None:
    calls = [
        {"tool_call_id": name, "tool_name": "copy", "args": args}
        for name, args in (("c1", '{"to": 1.50}'), ("c2", {"to": "b"}), ("c3", {"to": "c"}))
    ]
    ask = await submit(api, name="DeferredToolRequests", arguments=json.dumps({"approvals": calls}))
    approve: Json = {"action": "answer", "value": "approve"}
    await act(api, ask, **approve, edited={"to": 1.5, "force": True})
    await act(api, ask, **approve)
    _, done = await act(api, ask, **approve, edited={"to": "d"})
    now = done["edited"]
    assert now["arguments"] == {"c1": {"to": 1.5, "force": True}, "c3": {"to": "d"}}
    assert '"to": 1.50' in now["written"]
    assert now["difference"] == '+ force: true\nto: "c" → "d"'
    assert done["tool_result"]["structured"]["approvals"] == {
        "c1": {"kind": "tool-approved", "override_args": {"to": 1.5, "force": True}},
        "c2": {"kind": "tool-approved"},
        "c3": {"kind": "tool-approved", "override_args": {"to": "d"}},
    }
    assert (await consume(api, ask, edited=now["digest"]))[0] == 200


@pytest.mark.rule("EDIT-3", "ACT-2")
async def test_two_people_edit_at_once_and_one_of_them_is_told(api: Served) -> None:
    ask = await submit(api)
    both = [
        act(api, ask, who, **ALLOW, edited=edited(by=who), revision=ask["revision"])
        for who in ("ann", "bob")
    ]
    results = sorted(await asyncio.gather(*both), key=lambda each: each[0])
    assert [status for status, _ in results] == [200, 409]
    assert results[0][1]["edited"] == results[1][1]["edited"]
    status, _ = await act(api, ask, **ALLOW, edited=edited(), revision=ask["revision"] - 1)
    assert status == 409


@pytest.mark.rule("EDIT-5")
async def test_other_people_confirm_the_changed_call_and_the_agent_learns_nothing_before(
    api: Served,
) -> None:
    ask = await submit(api, to="two")
    status, waiting = await act(api, ask, **ALLOW, edited=edited())
    assert (status, waiting["prompt"]["kind"]) == (200, "confirmation")
    assert BETTER in waiting["prompt"]["context"]
    assert COMMAND + "\n" not in waiting["prompt"]["context"]
    assert waiting["edited"]["arguments"] == edited()
    assert f"Run {BETTER}" in waiting["headline"]
    agents = json.dumps([await read(api, ask), (await entries(api, ask, "ci"))])
    assert BETTER not in agents
    status, refused = await act(api, ask, "bob", **ALLOW, edited=edited(command="ls"))
    assert (status, code_of(refused)) == (422, "confirmation_due")
    status, done = await act(api, ask, "bob", action="confirm")
    assert (status, done["status"]) == (200, "answered")
    assert (await read(api, ask))["edited"]["arguments"] == edited()


async def entries(api: Served, ask: Json, reader: str) -> list[Json]:
    _, body = await api.get(f"/v1/asks/{ask['id']}/record", **api.bearer(reader))
    found: list[Json] = body["entries"]
    return found


@pytest.mark.rule("EDIT-5")
async def test_what_was_changed_and_not_confirmed_is_never_told(api: Served) -> None:
    ask = await submit(api, to="two")
    await act(api, ask, **ALLOW, edited=edited())
    status, _ = await act(api, ask, "bob", action="object", text="no")
    assert status == 200
    agents = await read(api, ask)
    assert agents["edited"] is None
    assert BETTER not in json.dumps([agents, await entries(api, ask, "ci")])


@pytest.mark.rule("EDIT-7")
async def test_back_drops_the_change_and_offers_it_again(api: Served) -> None:
    ask = await submit(api, to="two")
    await act(api, ask, **ALLOW, edited=edited())
    status, again = await act(api, ask, action="back")
    assert status == 200
    prompt = again["prompt"]
    assert json.loads(prompt["prefill_edited"]) == edited()
    assert json.loads(prompt["arguments"])["command"] == COMMAND
    assert (again["edited"], again["headline"]) == (None, f"Run {COMMAND}")
    await act(api, ask, **ALLOW)
    _, done = await act(api, ask, "bob", action="confirm")
    assert (done["status"], done["edited"]) == ("answered", None)
    decision = done["tool_result"]["structured"]["hookSpecificOutput"]["decision"]
    assert decision == {"behavior": "allow"}


@pytest.mark.rule("EDIT-2")
async def test_the_person_whose_agent_asks_changes_nothing_that_others_confirm(
    serve: Serve,
) -> None:
    async with serving(serve, owners={"ci": "ann"}) as api:
        ask = await submit(api, to="two")
        status, refused = await act(api, ask, **ALLOW, edited=edited())
        assert (status, "on behalf of" in refused["detail"]) == (403, True)
        status, _ = await act(api, ask, "stranger", **ALLOW, edited=edited())
        assert status == 403
        path = f"/v1/asks/{ask['id']}/actions"
        action = {**ALLOW, "edited": edited(), "actor": {"user_id": "bob"}}
        async with api.http.post(path, json=action, headers=api.person) as response:
            assert response.status == 403, "the service's own key is nobody in particular"
        assert (await read(api, ask))["revision"] == ask["revision"]
        assert (await act(api, ask, "bob", **ALLOW, edited=edited()))[0] == 200
        own = await submit(api)
        assert (await act(api, own, **ALLOW, edited=edited()))[0] == 200


@pytest.mark.rule("EDIT-6", "RCPT-7")
async def test_a_changed_call_is_consumed_only_by_its_digest(api: Served) -> None:
    ask = await submit(api)
    _, done = await act(api, ask, **ALLOW, edited=edited())
    for body in ({}, {"edited": "sha256:" + "0" * 64}):
        status, refused = await consume(api, ask, **body)
        assert (status, code_of(refused)) == (409, "edited")
    status, consumed = await consume(api, ask, edited=done["edited"]["digest"])
    assert (status, consumed["edited"]) == (200, done["edited"])
    status, refused = await consume(api, ask, edited=done["edited"]["digest"])
    assert (status, code_of(refused)) == (409, "consumed")
    plain = await submit(api)
    await act(api, plain, **ALLOW)
    status, refused = await consume(api, plain, edited=done["edited"]["digest"])
    assert (status, code_of(refused)) == (409, "not_edited")


@pytest.mark.rule("EDIT-6", "RCPT-3")
async def test_the_receipt_has_the_changed_call_until_it_is_erased(api: Served) -> None:
    ask = await submit(api)
    _, done = await act(api, ask, **ALLOW, edited=edited())
    path, keys = f"/v1/asks/{ask['id']}/receipt", await keys_of(api)
    _, receipt = await api.get(path, **api.bearer("ci"))
    signed = receipt["receipt"]["payload"]["edited"]
    beside = {name: receipt["disclosed"][key][1] for name, key in signed.items()}
    now = done["edited"]
    assert beside == {
        "arguments": now["written"],
        "digest": now["digest"],
        "difference": now["difference"],
    }
    verdict = check(receipt, keys)  # type: ignore[arg-type]  # it is one
    assert not verdict.faults
    assert any(BETTER in line for line in verdict.proves)
    async with api.http.post(f"/v1/asks/{ask['id']}/erase", headers=api.person) as response:
        assert response.status == 200
    _, after = await api.get(path, **api.bearer("ci"))
    assert after["receipt"] == receipt["receipt"]
    assert now["digest"] not in json.dumps(after)
    left = json.dumps([await read(api, ask), await entries(api, ask, "ci"), after])
    assert "build" not in left


@pytest.mark.rule("EDIT-3", "BATCH-2")
async def test_no_batch_and_no_agent_changes_a_call(api: Served) -> None:
    ask = await submit(api)
    path = f"/v1/asks/{ask['id']}/actions"
    async with api.http.post(
        path, json={**ALLOW, "edited": edited()}, headers=api.bearer("ci")
    ) as response:
        assert response.status == 403
    rows = [{"id": ask["id"], "revision": ask["revision"], "edited": edited()}]
    batch = {"asks": rows, "decision": "allow_once", "actor": {"user_id": "ann"}}
    async with api.http.post("/v1/batches", json=batch, headers=api.bearer("console")) as response:
        assert response.status == 422
    assert (await read(api, ask))["status"] == "open"
