"""The ends of grants: by their maker's rights, the clock, erasure and the operator."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from answerback.core.actions import Answer, GrantTerms
from answerback.core.errors import PlatformUnavailableError
from answerback.core.person import AuthMethod, Person
from answerback.ports.late_answers import SeenState
from answerback.ports.person_key import new_token
from answerback.ports.surface import Acted, Actor
from answerback.runtime.clock import SystemClock
from answerback.runtime.config import PersonSettings
from answerback.service.question_routing import ToolRule
from answerback_storage.maintenance import SqlMaintenance
from answerback_storage.person_key_file import PersonKeyFile
from answerback_storage.personal_links_file import PersonalLinksFile
from answerback_web.plugin import WebSettings
from tests.unit.bot.api.conftest import Json, Serve, Served, until
from tests.unit.bot.api.test_grants import (
    COMMAND,
    TERMS,
    delete,
    grant,
    listed,
    record,
    route,
    serving,
    submit,
)
from tests.unit.bot.api.test_personal_keys import create_link


@pytest.fixture
async def api(serve: Serve) -> AsyncIterator[Served]:
    async with serving(serve) as served:
        yield served


# --- a grant ends when its maker may no longer answer there ----------------------------------------


@pytest.mark.rule("GRANT-6")
async def test_a_call_that_does_not_ask_its_maker_is_asked(api: Served) -> None:
    await grant(api)
    assert (await submit(api, responders=["bob"]))["status"] == "open"
    assert (await submit(api, responders=["ann"]))["source"] == "grant"


@pytest.mark.rule("GRANT-6")
async def test_it_ends_with_the_front_end_that_vouched(serve: Serve) -> None:
    async with serving(serve) as api:
        await grant(api)
        tokens = api.running.reloader.tokens
        del tokens._agents[
            next(key for key, each in tokens._agents.items() if each.name == "console")
        ]
        assert (await submit(api))["status"] == "open"


async def grant_by_key(api: Served, headers: Json) -> Json:
    ask = await submit(api)
    path = f"/v1/asks/{ask['id']}/actions"
    action = {"action": "answer", "value": "allow", "grant": TERMS}
    async with api.http.post(path, json=action, headers=headers) as response:
        assert response.status == 200, await response.text()
        made: Json = await response.json()
        return made


@pytest.mark.rule("GRANT-6")
async def test_it_ends_with_the_operators_key(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, routes={"ops": route(responders="anyone")}) as api:
        await grant_by_key(api, api.person)
        assert (await submit(api))["source"] == "grant"
        await asyncio.to_thread(PersonKeyFile(tmp_path / "asks.db").rotate)
        assert (await submit(api))["status"] == "open"


@pytest.mark.rule("GRANT-2")
async def test_it_ends_with_the_token_of_the_agent_that_asked(serve: Serve) -> None:
    async with serving(serve) as api:
        await grant(api)
    async with serving(serve, tokens=api.tokens) as again:
        assert (await submit(again))["source"] == "grant"
    async with serving(serve, tokens={**api.tokens, "ci": new_token()}) as renewed:
        assert (await submit(renewed))["status"] == "open", "another token of the same name"


@pytest.mark.rule("GRANT-6")
@pytest.mark.parametrize("header", [None, "X-Other"])
async def test_it_ends_with_the_header_that_named_its_maker(
    serve: Serve, header: str | None
) -> None:
    web = WebSettings(user_header="X-User", trusted_proxies=("10.0.0.7",))
    ann = Person(surface="web", user_id="ann", known=AuthMethod.PROXY)
    async with serving(serve, web=web) as api:
        terms = GrantTerms(match="command", minutes=60, uses=3)
        answer = Answer(value="allow", grant=terms)
        done = await api.running.service.act((await submit(api))["id"], answer, Actor(ann))
        assert isinstance(done, Acted), done
    more = WebSettings(user_header="x-user", trusted_proxies=("10.0.0.7", "10.0.0.8"))
    async with serving(serve, tokens=api.tokens, web=more) as again:
        assert (await submit(again))["source"] == "grant"
    changed = web.model_copy(update={"user_header": header})
    async with serving(serve, tokens=api.tokens, web=changed) as without:
        assert (await submit(without))["status"] == "open"


Change = Callable[[Path], Awaitable[object]]


async def revoke_link(folder: Path) -> object:
    return await asyncio.to_thread(PersonalLinksFile(folder / "asks.db").revoke, "ann")


async def renew_link(folder: Path) -> object:
    await revoke_link(folder)
    return await asyncio.to_thread(PersonalLinksFile(folder / "asks.db").add, "ann", 2.0)


async def rotate_key(folder: Path) -> object:
    return await asyncio.to_thread(PersonKeyFile(folder / "asks.db").rotate)


@pytest.mark.rule("GRANT-6")
@pytest.mark.parametrize("change", [revoke_link, renew_link, rotate_key])
async def test_it_ends_with_a_personal_link(serve: Serve, tmp_path: Path, change: Change) -> None:
    async with serving(serve) as api:
        links = PersonalLinksFile(tmp_path / "asks.db")
        key = await asyncio.to_thread(links.add, "ann", 1.0)
        bob = await asyncio.to_thread(links.add, "bob", 1.0)
        own = {"Authorization": f"Bearer {key}"}
        made = await grant_by_key(api, own)
        assert [each["id"] for each in await listed(api, own)] == [made["grant"]["id"]]
        assert await listed(api, {"Authorization": f"Bearer {bob}"}) == []
        assert (await submit(api))["source"] == "grant"
        await change(tmp_path)
        assert (await submit(api))["status"] == "open"


@pytest.mark.rule("GRANT-6")
async def test_its_maker_revokes_it_with_their_link(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve) as api:
        key = await asyncio.to_thread(PersonalLinksFile(tmp_path / "asks.db").add, "ann", 1.0)
        own = {"Authorization": f"Bearer {key}"}
        made = await grant_by_key(api, own)
        assert (await delete(api, made["grant"]["id"], own))[0] == 200
        assert (await submit(api))["status"] == "open"


@pytest.mark.rule("GRANT-6", "LATE-1")
async def test_revoking_it_is_no_new_outcome_for_its_agent(api: Served) -> None:
    made, agent = await grant(api), api.bearer("ci")
    await api.running.service.late_answer_tracker.save_seen([made["id"]], SeenState.SEEN)
    assert (await delete(api, made["grant"]["id"], api.person))[0] == 200
    assert (await api.get("/v1/answers", **agent))[1]["answers"] == []


@pytest.mark.rule("GRANT-6")
async def test_one_person_on_another_surface_is_the_same_person(serve: Serve) -> None:
    people = {"ann": PersonSettings.model_validate({"ids": ["web:ann", "slack:U1"]})}
    async with serving(serve, people=people) as api:
        ask = await submit(api)
        path = f"/v1/asks/{ask['id']}/actions"
        action = {
            "action": "answer", "value": "allow", "grant": TERMS,
            "actor": {"surface": "slack", "user_id": "U1"},
        }  # fmt: skip
        async with api.http.post(path, json=action, headers=api.bearer("console")) as response:
            assert response.status == 200
        assert (await submit(api))["source"] == "grant"
        people.clear()
        api.running.service.people.accounts = {}
        api.running.service.people._owners = {}
        assert (await submit(api))["status"] == "open"


@pytest.mark.rule("GRANT-6")
async def test_members_of_a_group_are_looked_up_and_in_doubt_it_asks(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unknown(_person: object, _groups: object) -> frozenset[str]:
        raise PlatformUnavailableError("away")

    async with serving(serve, routes={"ops": route(responders=["@ops"])}) as api:
        ask = await submit(api)
        path = f"/v1/asks/{ask['id']}/actions"
        actor = {"user_id": "ann", "groups": ["ops"]}
        action = {"action": "answer", "value": "allow", "grant": TERMS, "actor": actor}
        async with api.http.post(path, json=action, headers=api.bearer("console")) as response:
            assert response.status == 200
        assert (await submit(api))["status"] == "open", "the page knows no groups"
        page = api.running.service.surfaces["web"]
        monkeypatch.setattr(page, "groups_of", unknown, raising=False)
        assert (await submit(api))["status"] == "open", "nobody can say"


# --- the clock, erasure and the operator's rules ----------------------------------------------------


@pytest.mark.rule("GRANT-7")
async def test_a_clock_that_was_set_back_allows_nothing(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    await grant(api)
    service = api.running.service
    real = service.clock.now
    monkeypatch.setattr(service.clock, "now", lambda: real() - 5.0)
    assert (await submit(api))["status"] == "open"


@pytest.mark.rule("GRANT-7")
async def test_a_clock_set_back_revives_no_expired_grant_before_anybody_noticed(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = api.running.service
    real = service.clock.now
    monkeypatch.setattr(service.clock, "now", lambda: real() + 9_000.0)
    await grant(api)
    monkeypatch.setattr(service.clock, "now", lambda: real() + 20_000.0)
    assert (await submit(api))["status"] == "open", "it has expired"
    monkeypatch.setattr(service.clock, "now", lambda: real() + 9_100.0)
    assert (await submit(api))["status"] == "open", "and stays so"


@pytest.mark.rule("GRANT-7")
@pytest.mark.parametrize("ended", [True, False], ids=["all ended", "all about to be ended"])
@pytest.mark.parametrize("ahead", [-100.0, 100.0], ids=["before the last line", "after it"])
async def test_a_clock_set_back_while_no_service_ran_revives_none(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, ahead: float, ended: bool
) -> None:
    def set_clock(seconds: float) -> None:
        monkeypatch.setattr(SystemClock, "now", lambda _self: time.time() + seconds)

    async def wait(*_: object) -> None:
        await asyncio.Event().wait()

    async with serving(serve) as api:
        await grant(api)
        lines, tokens = api.running.service.store.record, api.tokens
        made = await lines.last_time() or 0.0
        if ahead > 0:
            set_clock(9_000.0)

            async def is_noted() -> bool:
                return (await lines.last_time() or 0.0) > made + 8_000.0

            await until(is_noted)
    set_clock(ahead)
    if not ended:
        monkeypatch.setattr(SqlMaintenance, "shift_schedule", wait)
    async with serving(serve, tokens=tokens) as api:
        assert (await submit(api))["status"] == "open"
    async with serving(serve, tokens=tokens) as api:
        assert (await submit(api))["status"] == "open", "nor later"


@pytest.mark.rule("GRANT-7")
async def test_erasing_the_ask_of_a_grant_ends_it(api: Served) -> None:
    made = await grant(api)
    used = await submit(api)
    for ask in (used, made):
        path = f"/v1/asks/{ask['id']}/erase"
        async with api.http.post(path, headers=api.person) as response:
            assert response.status == 200
    assert (await submit(api))["status"] == "open"
    for ask in (used, made):
        _, body = await api.get(f"/v1/asks/{ask['id']}", **api.person)
        text = json.dumps([body, await record(api, ask)])
        assert '"ann"' not in text.casefold()
        assert COMMAND not in text


@pytest.mark.rule("GRANT-1")
async def test_a_fixed_answer_and_a_tool_that_is_off_come_first(serve: Serve) -> None:
    fixed = {"approval": ToolRule.model_validate({"questions": {"decision": {"answer": "deny"}}})}
    async with serving(serve, tools=fixed) as api:
        ask = await submit(api)
        assert (ask["source"], ask["answers"]) == ("config", {"decision": "deny"})


@pytest.mark.rule("GRANT-1")
async def test_a_route_that_no_longer_has_grants_asks(serve: Serve) -> None:
    async with serving(serve) as api:
        await grant(api)
    async with serving(serve, tokens=api.tokens, routes={"ops": route(grants=None)}) as api:
        assert (await submit(api))["status"] == "open"


@pytest.mark.rule("GRANT-6")
async def test_who_may_answer_there_revokes_one_with_their_own_key(
    api: Served, tmp_path: Path
) -> None:
    made = (await grant(api))["grant"]["id"]
    bob, eve = await create_link(tmp_path, "bob"), await create_link(tmp_path, "eve")
    missing = (await delete(api, "grant_0", eve))[1]["detail"]
    status, problem = await delete(api, made, eve)
    assert (status, problem["detail"].replace(made, "grant_0")) == (404, missing)
    assert (await delete(api, made, bob))[0] == 200
