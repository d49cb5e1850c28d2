"""One person's inbox across all agents, and the search over questions and answers."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from answerback.api.inbox_and_search import check_may_read
from answerback.core.errors import ProblemError
from answerback.core.people import NOBODY_KNOWN
from answerback.core.walker import Person
from tests.unit.bot.api.conftest import Json, Serve, Served
from tests.unit.bot.api.test_export import run_command

ROLES = {"one": "agent", "two": "agent", "console": "surface"}


def ids(page: Json) -> list[str]:
    return [ask["id"] for ask in page["asks"]]


async def search_ids(api: Served, query: str, **headers: str) -> list[str]:
    status, page = await api.get(f"/v1/search?{query}", **headers)
    assert status == 200, page
    return ids(page)


@pytest.mark.rule("API-16")
async def test_the_inbox_has_the_asks_of_all_agents_oldest_first(serve: Serve) -> None:
    async with serve(ROLES) as api:
        asks = [
            await api.asked({"question": f"{name}?"}, headers=api.bearer(name))
            for name in ("one", "two", "one")
        ]
        everything = [ask["id"] for ask in asks]
        for header in (api.person, api.bearer("console")):
            status, page = await api.get("/v1/inbox?responder=web:operator", **header)
            assert (status, ids(page), page["next"]) == (200, everything, None)
        _, first = await api.get("/v1/inbox?responder=web:operator&limit=2", **api.person)
        path = f"/v1/inbox?responder=web:operator&after={first['next']}"
        _, second = await api.get(path, **api.person)
        assert (ids(first), ids(second)) == (everything[:2], everything[2:])
        await api.act(asks[0], action="end_turn")
        _, page = await api.get("/v1/inbox?responder=web:operator", **api.person)
        assert ids(page) == everything[1:]


@pytest.mark.rule("API-16")
async def test_the_inbox_is_for_people_and_front_ends(serve: Serve) -> None:
    async with serve() as api:
        status, problem = await api.get("/v1/inbox?responder=web:operator")
    assert (status, problem["title"]) == (401, "Key missing")
    async with serve(ROLES) as guarded:
        path = "/v1/inbox?responder=web:operator"
        status, problem = await guarded.get(path, **guarded.bearer("one"))
    assert (status, problem["title"]) == (403, "Not for agent tokens")


@pytest.mark.rule("API-16")
def test_a_personal_key_only_opens_its_own_inbox() -> None:
    ann, ben = (Person(surface="web", user_id=name, name=name) for name in ("ann", "ben"))
    for reader in (None, ann):
        check_may_read(reader, ann, NOBODY_KNOWN)
    with pytest.raises(ProblemError, match="responder=web:ben"):
        check_may_read(ben, ann, NOBODY_KNOWN)


@pytest.mark.parametrize(
    "query",
    [
        *("", "responder=U012", "responder=:U012", "responder=slack:", "responder=web:a&after=x"),
        *("responder=web:a&limit=0", "responder=web:a&limit=201"),
    ],
)
async def test_an_inbox_without_a_valid_person_is_refused(api: Served, query: str) -> None:
    status, _ = await api.get(f"/v1/inbox?{query}", **api.person)
    assert status == 400


@pytest.mark.rule("API-17")
async def test_search_finds_questions_and_answers(api: Served) -> None:
    first = await api.asked({"question": "Which port?"})
    second = await api.asked({"question": "Which port for the café?"})
    await api.act(first, action="answer", value="The ninth", actor={"user_id": "ann"})
    await api.act(second, action="reply", text="None of these")
    assert await search_ids(api, "") == [second["id"], first["id"]]
    assert await search_ids(api, "q=which+PORT") == [second["id"], first["id"]]
    assert await search_ids(api, "q=cafe") == [second["id"]]
    assert await search_ids(api, "q=ninth+port") == [first["id"]]
    assert await search_ids(api, "q=port&status=cancelled") == [second["id"]]
    assert await search_ids(api, "answered_by=web:ann") == [first["id"]]
    assert await search_ids(api, "answered_by=web:operator&q=port") == [second["id"]]
    assert await search_ids(api, "q=port&agent=nobody") == []
    middle = quote(second["created_at"])
    assert second["id"] in await search_ids(api, f"from={middle}")
    assert second["id"] not in await search_ids(api, f"to={middle}")
    naive = quote(second["created_at"].removesuffix("Z"))
    assert await search_ids(api, f"to={naive}") == await search_ids(api, f"to={middle}")


@pytest.mark.rule("API-17")
async def test_search_has_pages(api: Served) -> None:
    asks = [(await api.asked({"question": "Which port?"}))["id"] for _ in range(3)]
    _, first = await api.get("/v1/search?q=port&limit=2")
    _, second = await api.get(f"/v1/search?q=port&limit=2&after={first['next']}")
    assert [*ids(first), *ids(second)] == asks[::-1]
    assert second["next"] is None


@pytest.mark.rule("API-17")
async def test_an_agent_finds_only_its_own_asks(serve: Serve) -> None:
    async with serve(ROLES) as api:
        asks = {
            name: (await api.asked({"question": "Which port?"}, headers=api.bearer(name)))["id"]
            for name in ("one", "two")
        }
        assert await search_ids(api, "q=port", **api.bearer("one")) == [asks["one"]]
        assert await search_ids(api, "agent=one", **api.bearer("one")) == [asks["one"]]
        assert await search_ids(api, "agent=two", **api.bearer("one")) == []
        for header in (api.person, api.bearer("console")):
            assert await search_ids(api, "q=port", **header) == [asks["two"], asks["one"]]
            assert await search_ids(api, "agent=two", **header) == [asks["two"]]


@pytest.mark.parametrize(
    "query",
    [
        *(
            "q=%3F",
            "q=" + "x" * 501,
            "from=yesterday",
            "to=0.5",
            "after=x",
            "status=gone",
            "what=1",
        ),
        *("answered_by=ann", "limit=0"),
    ],
)
async def test_an_invalid_search_is_refused(api: Served, query: str) -> None:
    status, _ = await api.get(f"/v1/search?{query}")
    assert status == 400


@pytest.mark.rule("API-17", "CLI-13")
async def test_search_and_the_list_filter_by_project_and_agent(serve: Serve) -> None:
    async with serve(roles={"ci": "agent", "other": "agent", "console": "surface"}) as api:
        for agent, project in (("ci", "app"), ("ci", "site"), ("other", "app")):
            await api.asked(headers=api.bearer(agent), origin={"project": project})
        status, page = await api.get("/v1/search?project=app&agent=ci", **api.bearer("console"))
        assert (status, [ask["origin"]["project"] for ask in page["asks"]]) == (200, ["app"])
        token = api.person["Authorization"].split()[1]
        service = ("--json", "--url", api.running.api_url, "--token", token)
        for filters, count in (
            (("--project", "app"), 2),
            (("--project", "app", "--agent", "other"), 1),
            (("--answered-by", "web:ann"), 0),
            (("--from", "2000-01-01", "--to", "2001-01-01"), 0),
        ):
            done = await run_command("list", *filters, *service)
            assert (done.exit_code, len(json.loads(done.stdout))) == (0, count), done.output
        done = await run_command("list", "--agent", "nobody", *service[1:])
        assert "There are no such asks." in done.output
