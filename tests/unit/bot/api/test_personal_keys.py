"""Keys of personal links in the API: who holds them, what they give access to, and what not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest

from answerback.core.person import AuthMethod
from answerback.core.walker import Person
from answerback.ports.person_key import (
    holder_of,
    name_problem,
    new_personal_key,
    operator,
    operator_holder,
    personal_holder,
)
from answerback.runtime.config import PersonSettings
from answerback_storage.personal_links_file import PersonalLinksFile
from tests.service_support import FakeSurface
from tests.unit.bot.api.conftest import Json, Serve, Served

TEXT: Json = {"question": "Which port?"}
ROLES = {"ci": "agent"}


@pytest.fixture(params=[{}, ROLES], ids=["without tokens", "with tokens"])
async def api(serve: Serve, request: pytest.FixtureRequest) -> AsyncIterator[Served]:
    async with serve(request.param) as served:
        yield served


async def create_link(folder: Path, name: str) -> dict[str, str]:
    """Create a personal link; return the header with its key."""
    key = await asyncio.to_thread(PersonalLinksFile(folder / "asks.db").add, name, 1.0)
    return {"Authorization": f"Bearer {key}"}


async def submit_ask(api: Served, **more: object) -> Json:
    headers = api.bearer("ci") if api.tokens else None
    return await api.asked(TEXT, headers=headers, **more)


async def act(api: Served, ask: Json, who: dict[str, str], **action: object) -> tuple[int, Json]:
    path = f"/v1/asks/{ask['id']}/actions"
    async with api.http.post(path, json=action, headers=who) as response:
        return response.status, await response.json(content_type=None)


async def answerers(api: Served, ask: Json) -> list[Json]:
    """The people who answered, according to the record."""
    _, page = await api.get(f"/v1/asks/{ask['id']}/record", **api.person)
    bodies = [line["response"]["answered"] for line in page["entries"] if "response" in line]
    return [body["by"] for body in bodies]


@pytest.mark.rule("AUTH-14", "WHO-4")
async def test_a_personal_key_acts_under_its_persons_name(api: Served, tmp_path: Path) -> None:
    alice = await create_link(tmp_path, "alice@example.com")
    for actor in (None, {"user_id": "alice@example.com", "name": "Somebody"}):
        ask = await submit_ask(api)
        named = {"actor": actor} if actor else {}
        status, ended = await act(api, ask, alice, action="answer", value="80", **named)
        who = {"surface": "web", "user_id": "alice@example.com", "name": "alice@example.com"}
        assert (status, ended["ended_by"]) == (200, who)
        assert await answerers(api, ask) == [who | {"known": "link"}]


@pytest.mark.rule("WHO-4")
async def test_the_record_says_that_a_person_was_identified_by_their_key(api: Served) -> None:
    ask = await submit_ask(api)
    who = {"user_id": "U1", "name": "Alice"}
    assert (await api.act(ask, action="answer", value="80", actor=who))[0] == 200
    assert await answerers(api, ask) == [{"surface": "web", "known": "key"} | who]


@pytest.mark.rule("AUTH-14")
async def test_a_personal_key_vouches_for_nobody_else(api: Served, tmp_path: Path) -> None:
    ask, alice = await submit_ask(api), await create_link(tmp_path, "alice")
    for other in ("bob", "operator"):
        status, problem = await act(
            api, ask, alice, action="answer", value="80", actor={"user_id": other}
        )
        assert (status, problem["title"]) == (403, "Another actor")
    assert (await api.get(f"/v1/asks/{ask['id']}", **api.person))[1]["status"] == "open"


@pytest.mark.rule("ACT-2", "ACT-3")
async def test_who_was_asked_and_comes_too_late_is_told_so(api: Served, tmp_path: Path) -> None:
    ask = await submit_ask(api, responders=["alice", "bob"])
    alice, bob, eve = [await create_link(tmp_path, name) for name in ("alice", "bob", "eve")]
    assert (await act(api, ask, alice, action="answer", value="80"))[0] == 200
    late = {"action": "answer", "value": "90"}
    status, now = await act(api, ask, bob, **late, revision=1)
    assert (status, now["ended_by"]["name"]) == (409, "alice")
    assert (await act(api, ask, bob, **late))[0] == 410
    assert (await act(api, ask, eve, **late))[0] == 404
    assert (await api.get(f"/v1/asks/{ask['id']}", **bob))[0] == 404


@pytest.mark.rule("ACT-9")
async def test_an_idempotency_key_is_its_persons_own(api: Served, tmp_path: Path) -> None:
    headers = api.bearer("ci") if api.tokens else None
    ask = await api.asked(responders=["alice", "bob"], headers=headers)
    answers: tuple[tuple[str, object], ...] = (("alice", True), ("bob", "staging"))
    for name, value in answers:
        key = {**await create_link(tmp_path, name), "Idempotency-Key": "1"}
        status, ask = await act(api, ask, key, action="answer", value=value)
        assert status == 200
    assert [answered["name"] for answered in await answerers(api, ask)] == ["alice", "bob"]


@pytest.mark.rule("AUTH-14", "CLI-24")
async def test_a_revoked_link_stops_acting_at_once(api: Served, tmp_path: Path) -> None:
    ask, alice = await submit_ask(api), await create_link(tmp_path, "alice")
    await asyncio.to_thread(PersonalLinksFile(tmp_path / "asks.db").revoke, "alice")
    status, _ = await act(api, ask, alice, action="answer", value="80")
    assert status == 401


@pytest.mark.rule("WHO-4")
async def test_responders_can_name_web_people_with_or_without_the_surface(
    api: Served, tmp_path: Path
) -> None:
    alice, bob = (
        await create_link(tmp_path, "alice@example.com"),
        await create_link(tmp_path, "bob@example.com"),
    )
    for responder in ("web:alice@example.com", "alice@example.com"):
        ask = await submit_ask(api, responders=[responder])
        status, problem = await act(api, ask, bob, action="answer", value="80")
        assert (status, problem["title"]) == (404, "Not found")
        assert (await act(api, ask, alice, action="answer", value="80"))[0] == 200


@pytest.mark.rule("AUTH-14")
async def test_a_personal_key_only_reads_its_persons_asks(api: Served, tmp_path: Path) -> None:
    alice, bob = await create_link(tmp_path, "alice"), await create_link(tmp_path, "bob")
    hers = await submit_ask(api, responders=["alice"])
    everybodys = await submit_ask(api)
    assert (await act(api, everybodys, bob, action="answer", value="80"))[0] == 200

    async def ids(path: str, who: dict[str, str]) -> list[str]:
        status, page = await api.get(path, **who)
        assert status == 200, page
        return [ask["id"] for ask in page["asks"]]

    assert await ids("/v1/inbox?responder=web:alice", alice) == [hers["id"]]
    assert await ids("/v1/asks", alice) == [hers["id"]]
    assert await ids("/v1/asks", bob) == [everybodys["id"]]
    assert await ids("/v1/search?q=port&status=open", alice) == [hers["id"]]
    assert await ids("/v1/search?q=gate&status=open", alice) == []
    assert await ids("/v1/search?q=port", alice) == []
    assert await ids("/v1/search?q=port", bob) == [everybodys["id"]]
    for tail in ("", "/record"):
        assert (await api.get(f"/v1/asks/{hers['id']}{tail}", **alice))[0] == 200
        assert (await api.get(f"/v1/asks/{hers['id']}{tail}", **bob))[0] == 404
        assert (await api.get(f"/v1/asks/{everybodys['id']}{tail}", **bob))[0] == 200
        assert (await api.get(f"/v1/asks/{everybodys['id']}{tail}", **alice))[0] == 404
    assert (await api.get("/v1/inbox?responder=web:bob", **alice))[0] == 403


@pytest.mark.rule("AUTH-14")
async def test_a_personal_key_can_neither_export_nor_erase(api: Served, tmp_path: Path) -> None:
    ask, alice = await submit_ask(api), await create_link(tmp_path, "alice")
    assert (await act(api, ask, alice, action="answer", value="80"))[0] == 200
    async with api.http.post(f"/v1/asks/{ask['id']}/erase", headers=alice) as response:
        assert (response.status, (await response.json(content_type=None))["title"]) == (
            403,
            "Not for personal links",
        )
    assert (await api.get("/v1/export", **alice))[0] == 403


async def test_a_personal_key_can_page_through_its_persons_inbox(
    api: Served, tmp_path: Path
) -> None:
    alice = await create_link(tmp_path, "alice")
    for number in range(5):
        await submit_ask(api, responders=["bob"] if number % 2 else ["alice"])
    found, after = [], ""
    while True:
        _, page = await api.get(f"/v1/search?status=open&limit=2{after}", **alice)
        found += page["asks"]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert len(found) == 3


@pytest.mark.rule("AUTH-14", "API-17")
async def test_a_search_for_open_asks_continues_until_it_finds_some(
    api: Served, tmp_path: Path
) -> None:
    alice = await create_link(tmp_path, "alice")
    await submit_ask(api)
    headers = api.bearer("ci") if api.tokens else None
    wanted = await api.asked({"question": "Which gate?"}, headers=headers)
    for query in ("q=gate", f"q=gate&to={quote(wanted['updated_at'][:10])}T23:59:59Z"):
        _, page = await api.get(f"/v1/search?status=open&limit=1&{query}", **alice)
        assert [ask["id"] for ask in page["asks"]] == [wanted["id"]]
    for query in ("q=gate&to=2020-01-01", "q=gate&from=2999-01-01", "q=gate&agent=nobody"):
        _, page = await api.get(f"/v1/search?status=open&{query}", **alice)
        assert page["asks"] == []


@pytest.mark.rule("AUTH-14")
def test_personal_links_contain_more_than_the_stored_hash() -> None:
    key, person = new_personal_key(), Person(surface="web", user_id="a", known=AuthMethod.LINK)
    held = personal_holder(operator_holder(key, person).key_hash, "abk_the service's own", person)
    assert holder_of(key, [held]) == held
    assert holder_of("abk_the service's own", [held]) is None
    assert held.link_secret != personal_holder(held.key_hash, "abk_another", person).link_secret
    assert not held.is_operator
    assert operator_holder("abk_x", operator("web")).is_operator


@pytest.mark.rule("WHO-4")
@pytest.mark.parametrize(
    "name",
    [
        *("", " alice", "alice ", "@alice", "operator", "anyone", "web:alice"),
        *("a,b", "a\nb", "a\u202eb", "a\u200bb", "a\ud800", "x" * 129),
    ],
)
def test_ambiguous_names_are_refused(name: str) -> None:
    assert name_problem(name, "web") is not None


@pytest.mark.parametrize("name", ["a", "alice@example.com", "Alice Ämter", "x:y", "x" * 128])
def test_names_from_identity_providers_are_accepted(name: str) -> None:
    assert name_problem(name, "web") is None


@pytest.mark.rule("PEOPLE-4")
async def test_a_personal_key_reads_and_answers_what_names_its_person_elsewhere(
    serve: Serve, tmp_path: Path
) -> None:
    people = {"alice": PersonSettings.model_validate({"ids": ["web:alice", "slack:U1"]})}
    async with serve(ROLES, people=people) as api:
        running = api.running.service.surfaces
        assert isinstance(running, dict)
        running["slack"] = FakeSurface("slack")
        alice, bob = await create_link(tmp_path, "alice"), await create_link(tmp_path, "bob")
        ask = await submit_ask(api, to="slack:C1", responders=["U1"])
        for who, status in ((alice, 200), (bob, 404)):
            assert (await api.get(f"/v1/asks/{ask['id']}", **who))[0] == status
        for account, who, status in (
            ("slack:U1", alice, 200),
            ("web:alice", alice, 200),
            ("slack:U1", bob, 403),
        ):
            found, page = await api.get(f"/v1/inbox?responder={account}", **who)
            assert found == status
            assert [each["id"] for each in page.get("asks", ())] == ([ask["id"]] * (status == 200))
        assert (await act(api, ask, bob, action="answer", value="80"))[0] == 404
        assert (await api.act(ask, action="answer", value="80"))[0] == 403
        status, ended = await act(api, ask, alice, action="answer", value="80")
        assert (status, ended["ended_by"]["user_id"]) == (200, "alice")
        _, page = await api.get("/v1/search?answered_by=slack:U1", **api.person)
        assert [each["id"] for each in page["asks"]] == [ask["id"]]
