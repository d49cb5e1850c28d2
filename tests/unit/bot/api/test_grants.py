"""Grants through the API: who gives them, what they then allow, what ends them, and what stays of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from answerback.core.person import Person
from answerback.service.late_answer_text import describe_late_answer
from answerback.service.submission_request import Route
from answerback_receipts.checks import check
from tests.unit.bot.api.conftest import Json, Serve, Served
from tests.unit.bot.api.test_receipts import keys_of

ROLES = {"ci": "agent", "cd": "agent", "console": "surface"}
COMMAND = "pytest -q tests"
TERMS: Json = {"match": "command", "minutes": 60, "uses": 3}


def route(**more: object) -> Route:
    table = {"to": "web", "responders": ["ann", "bob"], "grants": {"prefixes": ["pytest"]}}
    return Route.model_validate({**table, **more})


@asynccontextmanager
async def serving(serve: Serve, **more: Any) -> AsyncIterator[Served]:
    """A service whose route `ops` has grants."""
    tables = {"routes": {"ops": route(), "plain": route(grants=None)}, **more}
    async with serve(tables.pop("roles", ROLES), **tables) as api:
        yield api


@pytest.fixture
async def api(serve: Serve) -> AsyncIterator[Served]:
    async with serving(serve) as served:
        yield served


async def submit(api: Served, *, agent: str = "ci", command: str = COMMAND, **more: object) -> Json:
    """Ask for permission to run a command."""
    body = {
        "name": "PermissionRequest",
        "arguments": {"tool_name": "Bash", "tool_input": {"command": command}},
        "to": "ops",
        "origin": {"folder": "/srv/app"},
        **more,
    }
    headers = api.bearer(agent) if api.tokens else None
    async with api.http.post("/v1/asks", json=body, headers=headers) as response:
        assert response.status == 201, await response.text()
        ask: Json = await response.json()
        return ask


async def act(api: Served, ask: Json, who: str = "ann", **action: object) -> tuple[int, Json]:
    """Act as a person whom the front end vouches for."""
    actor = {"user_id": who, "name": who.title()}
    path = f"/v1/asks/{ask['id']}/actions"
    headers = api.bearer("console")
    async with api.http.post(path, json={**action, "actor": actor}, headers=headers) as response:
        return response.status, await response.json(content_type=None)


async def grant(api: Served, **terms: object) -> Json:
    """Allow once as Ann, and again by these terms; return the ask."""
    ask = await submit(api)
    action: Json = {"action": "answer", "value": "allow", "grant": {**TERMS, **terms}}
    status, done = await act(api, ask, **action)
    assert status == 200, done
    return done


async def delete(api: Served, grant_id: str, headers: Json, query: str = "") -> tuple[int, Json]:
    path = f"/v1/grants/{grant_id}{query}"
    async with api.http.delete(path, headers=headers) as response:
        return response.status, await response.json(content_type=None)


async def listed(api: Served, headers: Json | None = None) -> list[Json]:
    status, body = await api.get("/v1/grants", **(headers or api.person))
    assert status == 200, body
    found: list[Json] = body["grants"]
    return found


async def record(api: Served, ask: Json) -> list[Json]:
    _, body = await api.get(f"/v1/asks/{ask['id']}/record", **api.person)
    entries: list[Json] = body["entries"]
    return entries


@pytest.mark.rule("GRANT-1")
async def test_a_prompt_says_what_may_be_allowed_again(api: Served) -> None:
    prompt = (await submit(api))["prompt"]
    assert prompt["grants"] == [
        {"match": "command", "text": f"Exactly this command: {COMMAND}", "minutes": 480, "uses": 50},
        {"match": "prefix:pytest", "text": "Commands that begin with: pytest", "minutes": 480, "uses": 50},
    ]  # fmt: skip
    assert (await submit(api, to="plain"))["prompt"]["grants"] == []


NOTHING_OFFERED: dict[str, Json] = {
    "a place": {"to": "web", "responders": ["ann"]},
    "no folder": {"origin": {}},
    "a folder that looks like another": {"origin": {"folder": "/srv/app\u200b"}},
    "a folder with blanks": {"origin": {"folder": "/srv/a  b"}},
    "confirmations": {"confirmations": 1},
    "a question": {"name": "ask_user", "arguments": {"question": "Why?"}},
    "two ways to allow once": {
        "name": "session/request_permission",
        "arguments": {
            "toolCall": {"name": "Bash", "kind": "execute", "rawInput": {"command": "ls"}},
            "options": [
                {"optionId": "a", "name": "Yes", "kind": "allow_once"},
                {"optionId": "b", "name": "Yes, this one", "kind": "allow_once"},
            ],
        },
    },
    "several uses": {
        "name": "hitl_request",
        "arguments": {
            "action_requests": [{"name": "Bash", "args": {"command": "ls"}}] * 2,
            "review_configs": [],
        },
    },
    "a tool that changed": {
        "name": "tools/call",
        "arguments": {"server": "s", "name": "t", "arguments": {}, "changed": "-a\n+b"},
    },
}


@pytest.mark.rule("GRANT-1", "GRANT-3")
@pytest.mark.parametrize("more", NOTHING_OFFERED.values(), ids=NOTHING_OFFERED)
async def test_in_doubt_nothing_is_offered(api: Served, more: Json) -> None:
    ask = await submit(api, **more)
    prompt = ask["prompt"]
    assert prompt["grants"] == []
    option = prompt["options"][0]["value"] if prompt["options"] else "x"
    status, _ = await act(api, ask, action="answer", value=option, grant=TERMS)
    assert status == 422
    assert (await api.get(f"/v1/asks/{ask['id']}", **api.person))[1]["status"] == "open"


WRITTEN: dict[str, bool] = {
    "1.5": True, "0": True, "-0.0": True, "1e+16": True, "12345678901234567890": True,
    "1.50": False, "15e-1": False, "1.5000000000000000000001": False, "-0": False, "1E2": False,
    "0.1000000000000000055511151231257827": False, "1e400": False,
}  # fmt: skip
"""Numbers as a host writes them, and whether no other way to write them reads the same."""


@pytest.mark.rule("GRANT-2")
@pytest.mark.parametrize("number", WRITTEN)
async def test_a_number_counts_as_it_is_written(api: Served, number: str) -> None:
    async def offered(arguments: str) -> list[Json]:
        where = '"name": "tools/call", "to": "ops", "origin": {"folder": "/srv/app"}'
        body = f'{{{where}, "arguments": {arguments}}}'
        headers = {**api.bearer("ci"), "Content-Type": "application/json"}
        async with api.http.post("/v1/asks", data=body, headers=headers) as response:
            ask = await response.json(content_type=None)
            assert (response.status == 201) is (number != "1e400"), ask
            found: list[Json] = ask["prompt"]["grants"] if response.status == 201 else []
            return found

    call = f"""{{"server": "s", "name": "t", "arguments": {{"n": [{number}]}}}}"""
    assert bool(await offered(call)) is WRITTEN[number]
    assert bool(await offered(json.dumps(call))) is WRITTEN[number], "as JSON in a text"


@pytest.mark.rule("GRANT-3")
async def test_without_tokens_there_are_no_grants(serve: Serve) -> None:
    async with serving(serve, roles={}) as api:
        assert (await submit(api))["prompt"]["grants"] == []


@pytest.mark.rule("GRANT-3")
async def test_where_a_route_asks_for_confirmations_there_are_no_grants(serve: Serve) -> None:
    routes = {"ops": route(confirmations=1)}
    async with serving(serve, routes=routes) as api:
        ask = await submit(api)
        assert ask["prompt"]["grants"] == []
        assert (await act(api, ask, action="answer", value="allow", grant=TERMS))[0] == 422


@pytest.mark.rule("GRANT-3")
async def test_no_grant_stands_in_for_confirmations(api: Served) -> None:
    await grant(api)
    assert (await submit(api, confirmations=1))["prompt"]["controls"] == ["reply", "end_turn"]


@pytest.mark.rule("GRANT-4", "GRANT-5")
async def test_a_matching_prompt_is_allowed_at_once_as_if_a_person_had(api: Served) -> None:
    made = await grant(api)
    note = made["grant"]
    assert note == {
        "id": note["id"],
        "by": {"surface": "web", "user_id": "ann", "name": "Ann"},
        "use": None,
        "uses": 3,
        "expires_at": note["expires_at"],
        "revoked_at": None,
        "revoked_by": None,
    }
    assert made["source"] == "human"
    uses = [await submit(api) for _ in range(4)]
    assert [each["status"] for each in uses] == ["answered"] * 3 + ["open"]
    assert [each["grant"] and each["grant"]["use"] for each in uses] == [1, 2, 3, None]
    used = uses[0]
    assert used["source"] == "grant"
    assert used["sources"] == {"decision": "grant"}
    assert used["ended_by"] is None
    assert used["tool_result"] == made["tool_result"]
    assert used["grant"] == {**note, "use": 1}
    assert (await submit(api, agent="cd"))["status"] == "open"
    assert (await submit(api, command="pytest -q test"))["status"] == "open"


@pytest.mark.rule("GRANT-2")
async def test_the_operators_prefixes_are_granted_as_such(api: Served) -> None:
    await grant(api, match="prefix:pytest")
    assert (await submit(api, command="pytest --lf tests/unit"))["source"] == "grant"
    assert (await submit(api, command="pytest; rm x"))["status"] == "open"


@pytest.mark.rule("GRANT-5")
async def test_every_use_is_in_the_record_with_who_gave_the_grant_and_where(api: Served) -> None:
    made = await grant(api)
    used = await submit(api)
    note = next(each["note"] for each in await record(api, made) if "note" in each)
    grant_id, ann = made["grant"]["id"], {"surface": "web", "user_id": "ann", "name": "Ann"}
    terms = {"match": "command", "subject": COMMAND, "minutes": 60, "uses": 3}
    assert note == {"grant": grant_id, **terms, "by": ann}
    entries = await record(api, used)
    [answered] = [each["response"]["answered"] for each in entries if "response" in each]
    assert answered["source"] == "grant"
    assert answered["by"] is None
    [found] = [each["note"] for each in entries if "note" in each]
    assert found == {"grant": grant_id, "made_in": made["id"], "use": 1, "uses": 3, "by": ann}


@pytest.mark.rule("GRANT-5")
async def test_receipts_name_the_grant(api: Served) -> None:
    made = await grant(api)
    used = await submit(api)
    for ask, use in ((made, None), (used, 1)):
        status, body = await api.get(f"/v1/asks/{ask['id']}/receipt", **api.person)
        assert status == 200
        payload = body["receipt"]["payload"]
        named = payload["grant"]
        assert (named["id"], named["use"], named["uses"]) == (made["grant"]["id"], use, 3)
        assert body["disclosed"][named["by"]["user_id"]][1] == "ann"
        assert payload["strength"] == "vouched"
        assert payload["source"] == ("grant" if use else "human")


@pytest.mark.rule("GRANT-5")
async def test_what_a_grant_allowed_opens_one_door_once(api: Served) -> None:
    await grant(api)
    used = await submit(api)
    path = f"/v1/asks/{used['id']}/consume"
    statuses = []
    for _ in range(2):
        async with api.http.post(path, headers=api.bearer("ci")) as response:
            statuses.append(response.status)
    assert statuses == [200, 409]


@pytest.mark.rule("GRANT-3")
@pytest.mark.parametrize(
    ("action", "pointer"),
    [
        ({"grant": {**TERMS, "match": "file"}}, "/grant/match"),
        ({"grant": {**TERMS, "minutes": 481}}, "/grant/minutes"),
        ({"grant": {**TERMS, "uses": 51}}, "/grant/uses"),
        ({"grant": TERMS, "value": "deny"}, "/grant"),
    ],
)
async def test_what_was_not_offered_is_refused_and_changes_nothing(
    api: Served, action: Json, pointer: str
) -> None:
    ask = await submit(api)
    status, body = await act(api, ask, **{"action": "answer", "value": "allow", **action})
    assert (status, body["errors"][0]["pointer"]) == (422, pointer)
    assert await listed(api) == []
    assert (await api.get(f"/v1/asks/{ask['id']}", **api.person))[1]["revision"] == ask["revision"]


@pytest.mark.rule("GRANT-3")
@pytest.mark.parametrize("terms", [{"minutes": 0}, {"uses": True}, {"uses": 1.5}, {"more": 1}])
async def test_terms_of_another_shape_are_refused(api: Served, terms: Json) -> None:
    ask = await submit(api)
    action: Json = {"action": "answer", "value": "allow", "grant": {**TERMS, **terms}}
    assert (await act(api, ask, **action))[0] == 422


@pytest.mark.rule("GRANT-3")
async def test_agents_and_people_who_may_not_answer_neither_make_nor_see_nor_end_one(
    api: Served,
) -> None:
    ask = await submit(api)
    action: Json = {"action": "answer", "value": "allow", "grant": TERMS}
    assert (await act(api, ask, "eve", **action))[0] == 403
    path = f"/v1/asks/{ask['id']}/actions"
    async with api.http.post(path, json=action, headers=api.bearer("ci")) as response:
        assert response.status == 403
    made = await grant(api)
    assert (await api.get("/v1/grants", **api.bearer("ci")))[0] == 403
    grant_id = made["grant"]["id"]
    assert (await delete(api, grant_id, api.bearer("ci")))[0] == 403
    assert (await delete(api, grant_id, api.bearer("console"), "?responder=web:eve"))[0] == 403
    assert (await delete(api, grant_id, api.bearer("console")))[0] == 422
    assert (await submit(api))["source"] == "grant"
    for name in ("grant", "grants"):
        body = {
            "name": "PermissionRequest",
            "arguments": {"tool_name": "Bash", "tool_input": {"command": "x"}},
            name: [TERMS],
        }
        async with api.http.post("/v1/asks", json=body, headers=api.bearer("ci")) as response:
            assert response.status == 422, "nothing that an agent sends makes one"


@pytest.mark.rule("GRANT-6")
async def test_they_are_listed_and_revoked(api: Served) -> None:
    made = await grant(api)
    await submit(api)
    [found] = await listed(api)
    assert found | {"created_at": "", "expires_at": ""} == {
        "id": made["grant"]["id"], "ask_id": made["id"], "match": "command",
        "text": f"Exactly this command: {COMMAND}", "agent": "ci", "owner": None,
        "folder": "/srv/app", "route": "ops", "uses": 3, "used": 1,
        "by": {"surface": "web", "user_id": "ann", "name": "Ann"},
        "created_at": "", "expires_at": "", "ended_at": None,
    }  # fmt: skip
    assert await listed(api, api.bearer("console")) == [found]
    status, ended = await delete(api, found["id"], api.bearer("console"), "?responder=web:bob")
    assert status == 200, "anybody who may answer there may end it"
    assert ended["ended_at"] is not None
    assert (await submit(api))["status"] == "open"
    assert await listed(api) == []
    assert (await delete(api, found["id"], api.person))[1] == ended, "once is enough"
    _, ask = await api.get(f"/v1/asks/{made['id']}", **api.person)
    assert ask["grant"]["revoked_by"]["user_id"] == "bob"
    last = (await record(api, made))[-1]["note"]
    assert (last["grant_revoked"], last["by"]["user_id"]) == (found["id"], "bob")
    assert (await delete(api, "grant_0", api.person))[0] == 404


@pytest.mark.rule("GRANT-6")
async def test_the_operator_revokes_any(api: Served) -> None:
    made = await grant(api)
    status, ended = await delete(api, made["grant"]["id"], api.person)
    assert (status, ended["ended_at"] is None) == (200, False)
    assert (await submit(api))["status"] == "open"


@pytest.mark.rule("GRANT-6")
async def test_an_answer_without_a_grant_has_none_to_revoke(api: Served) -> None:
    ask = await submit(api)
    await act(api, ask, action="answer", value="allow")
    done = await api.running.service.grants.revoke(ask["id"], _ann())
    assert [each.code for each in getattr(done, "problems", ())] == ["no_grant"]
    missing = await api.running.service.grants.revoke("ask_0", _ann())
    assert getattr(missing, "ask", 1) is None


def _ann() -> Person:
    return Person(surface="web", user_id="ann")


@pytest.mark.rule("GRANT-4")
async def test_two_submissions_at_the_last_use_share_one(api: Served) -> None:
    await grant(api, uses=1)
    asks = await asyncio.gather(*(submit(api) for _ in range(8)))
    assert sorted(ask["status"] for ask in asks) == ["answered", *["open"] * 7]


@pytest.mark.rule("GRANT-4")
async def test_concurrent_uses_are_numbered_one_by_one(api: Served) -> None:
    await grant(api, uses=20)
    asks = await asyncio.gather(*(submit(api) for _ in range(12)))
    assert sorted(ask["grant"]["use"] for ask in asks) == [*range(1, 13)]


@pytest.mark.rule("GRANT-4")
async def test_a_repeated_submission_is_the_same_use(api: Served) -> None:
    await grant(api)
    body = {
        "name": "PermissionRequest",
        "arguments": {"tool_name": "Bash", "tool_input": {"command": COMMAND}},
        "to": "ops",
        "origin": {"folder": "/srv/app"},
    }
    headers = {**api.bearer("ci"), "Idempotency-Key": "k"}
    found = []
    for _ in range(2):
        async with api.http.post("/v1/asks", json=body, headers=headers) as response:
            found.append((await response.json())["id"])
    assert found[0] == found[1]
    assert [each["used"] for each in await listed(api)] == [1]


@pytest.mark.rule("GRANT-5")
async def test_a_receipt_says_in_words_whose_grant_it_was(api: Served) -> None:
    made = await grant(api)
    used = await submit(api)
    keys = await keys_of(api)
    for ask, said in ((made, "With it goes the grant"), (used, "It is use 1 of the grant")):
        _, body = await api.get(f"/v1/asks/{ask['id']}/receipt", **api.person)
        verdict = check(body, keys)  # type: ignore[arg-type] # JSON
        assert verdict.faults == []
        [sentence] = [each for each in verdict.proves if said in each]
        assert f"{made['grant']['id']}, by ann on web: 3 uses, until" in sentence


@pytest.mark.rule("GRANT-5")
async def test_a_late_answer_by_a_grant_is_no_machines(api: Served) -> None:
    await grant(api)
    used = await api.running.service.get((await submit(api))["id"])
    assert used is not None
    assert describe_late_answer(used).startswith("The answer to ")
