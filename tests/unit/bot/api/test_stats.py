"""The numbers through the API and on the operator's page: what they say, and who may read them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from answerback.core.ask import Ask, Change, Outcome, Reason, Status, end_ask, request_entry
from answerback.core.given_answer import Source
from answerback.core.labels import ENGLISH
from answerback.ports.extension_rows import NO_ROWS
from answerback_agents.cli import main
from answerback_numbers.facts import Result, facts_of, result_of, week_of
from answerback_numbers.numbers import Numbers
from answerback_numbers.stats import StatsReader
from answerback_storage.personal_links_file import PersonalLinksFile
from answerback_testing.example_asks import new_ask
from tests.unit.bot.api import test_grants as grants
from tests.unit.bot.api.conftest import Json, Serve, Served


@pytest.fixture
async def api(serve: Serve) -> AsyncIterator[Served]:
    async with grants.serving(serve) as served:
        yield served


async def decide(api: Served, value: str, **more: object) -> Json:
    ask = await grants.submit(api, **more)  # type: ignore[arg-type]  # a field of the call
    status, done = await grants.act(api, ask, action="answer", value=value)
    assert status == 200, done
    return done


async def stats(api: Served, query: str = "") -> Json:
    status, found = await api.get(f"/v1/stats{query}", **api.person)
    assert status == 200, found
    return found


@pytest.mark.rule("NUMBERS-1", "NUMBERS-2")
async def test_asks_are_counted_as_they_end_by_week_agent_and_route(api: Served) -> None:
    await decide(api, "allow")
    await decide(api, "deny", agent="cd")
    await grants.submit(api)
    found = await stats(api)
    assert found["total"]["asks"] == 2, "an open ask is not counted"
    assert found["total"]["results"] == {"allowed": 1, "denied": 1}
    assert [(row["name"], row["asks"]) for row in found["agents"]] == [("cd", 1), ("ci", 1)]
    assert [(row["name"], row["asks"]) for row in found["routes"]] == [("ops", 2)]
    [week] = found["weeks"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", week["name"])
    assert 0 < week["median_seconds"] <= week["ninety_percent_seconds"] < 60
    assert found["error"] == 0.1


@pytest.mark.rule("NUMBERS-2")
async def test_what_a_grant_allowed_waited_for_nobody(api: Served) -> None:
    await grants.grant(api)
    await grants.submit(api)
    found = await stats(api)
    assert found["total"]["results"] == {"allowed": 1, "granted": 1}
    reader = StatsReader(api.running.service.store)
    sums = (await reader.read(api.running.service.clock.now(), 1, ENGLISH)).total
    assert (sums.count, sums.waits.total()) == (2, 1)


@pytest.mark.rule("NUMBERS-4")
async def test_what_was_always_allowed_is_listed_with_what_would_have_saved_it(api: Served) -> None:
    for _ in range(3):
        await decide(api, "allow")
        await decide(api, "allow", command="make sometimes-denied")
        await decide(api, "allow", to="plain", command="make plain")
    await decide(api, "deny", command="make sometimes-denied")
    await decide(api, "allow", command="make twice")
    found = (await stats(api))["always_allowed"]
    by_text = {each["headline"]: each for each in found}
    assert by_text.keys() == {f"Run {grants.COMMAND}", "Run make plain"}
    first, plain = by_text[f"Run {grants.COMMAND}"], by_text["Run make plain"]
    assert (first["times"], first["agent"], first["route"]) == (3, "ci", "ops")
    assert (first["folder"], first["grants"]) == ("/srv/app", True)
    assert grants.COMMAND in first["grant"]
    assert (plain["grants"], plain["route"]) == (False, "plain")


@pytest.mark.rule("NUMBERS-2", "NUMBERS-4")
async def test_a_call_that_people_changed_was_not_allowed_as_it_was_asked(serve: Serve) -> None:
    async with grants.serving(serve, routes={"ops": grants.route(edit=True)}) as api:
        for _ in range(3):
            ask = await grants.submit(api, takes_edited=True)
            allow: Json = {
                "action": "answer",
                "value": "allow",
                "edited": {"command": "make other"},
            }
            status, done = await grants.act(api, ask, **allow)
            assert (status, done["status"]) == (200, "answered"), done
            await decide(api, "allow")
        await decide(api, "allow", command="make plain", takes_edited=True)
        found = await stats(api)
        assert found["total"]["results"] == {"allowed": 4, "edited": 3}
        assert found["always_allowed"] == [], "a grant would have run what people had changed"


@pytest.mark.rule("NUMBERS-4", "NUMBERS-6")
async def test_erased_text_is_not_listed(api: Served) -> None:
    asks = [await decide(api, "allow") for _ in range(3)]
    for ask in asks:
        await api.running.service.erase(ask["id"])
    found = await stats(api)
    assert found["always_allowed"] == []
    assert found["total"]["asks"] == 3


@pytest.mark.rule("NUMBERS-7")
async def test_only_the_operators_key_reads_them(api: Served) -> None:
    for headers in ({}, api.bearer("ci"), api.bearer("console")):
        status, _ = await api.get("/v1/stats", **headers)
        assert status in {401, 403}, headers
    status, found = await api.get("/v1/stats?weeks=0", **api.person)
    assert status == 400, found


@pytest.mark.rule("NUMBERS-7")
async def test_no_person_and_no_answer_is_in_them(api: Served) -> None:
    await decide(api, "allow")
    text = str(await stats(api))
    assert "ann" not in text.lower()
    assert "console" not in text


@pytest.mark.rule("NUMBERS-5")
async def test_a_week_is_read_again_once_more_of_it_is_counted(api: Served) -> None:
    numbers = api.running.extensions.running["numbers"]
    assert isinstance(numbers, Numbers)
    for expected in (1, 2):
        await decide(api, "allow")
        for _ in range(2):
            assert (await numbers.read(1, ENGLISH)).total.count == expected


async def read_page(api: Served, inbox: str, path: str = "") -> tuple[int, str]:
    async with api.http.get(f"{inbox}{path}") as response:
        return response.status, await response.text()


@pytest.mark.rule("NUMBERS-1", "NUMBERS-3")
async def test_the_operators_page_shows_each_chart_in_the_table_of_its_values(api: Served) -> None:
    for _ in range(3):
        await decide(api, "allow")
    async with api.http.get(api.running.inbox_url, allow_redirects=False) as response:
        inbox = f"/{response.headers['Location']}"
    status, markup = await read_page(api, inbox)
    assert status == 200
    assert "/numbers" in markup
    for query, weeks in (("", "12 weeks"), ("?weeks=4", "4 weeks"), ("?weeks=x", "12 weeks")):
        status, markup = await read_page(api, f"{inbox}/numbers", query)
        assert status == 200
        assert f'aria-current="page">{weeks}</a>' in markup
    assert markup.count("<svg") == 3, "a bar a week, agent and route"
    assert "within 10%" in markup
    assert grants.COMMAND in markup


@pytest.mark.rule("NUMBERS-7")
async def test_a_personal_link_has_no_page_of_numbers(serve: Serve) -> None:
    async with grants.serving(serve) as api:
        links = PersonalLinksFile(api.running.reloader.settings.storage.file)
        key = await asyncio.to_thread(links.add, "eve", 1.0)
        async with api.http.get(f"/?key={key}", allow_redirects=False) as response:
            inbox = f"/{response.headers['Location']}"
        status, markup = await read_page(api, inbox)
        assert status == 200
        assert "/numbers" not in markup
        assert (await read_page(api, inbox, "/numbers"))[0] == 404
        status, _ = await api.get("/v1/stats", Authorization=f"Bearer {key}")
        assert status == 403


@pytest.mark.rule("NUMBERS-1", "NUMBERS-3", "NUMBERS-4", "CLI-18")
async def test_the_command_prints_them(api: Served) -> None:
    for _ in range(3):
        await decide(api, "allow")
    await decide(api, "deny", command="make denied")
    left = await grants.submit(api, command="make left")
    async with api.http.delete(f"/v1/asks/{left['id']}", headers=api.bearer("ci")) as response:
        assert response.status == 200
    key = api.person["Authorization"].removeprefix("Bearer ")
    command = ["stats", "--url", api.running.api_url, "--token", key]
    invoke = CliRunner().invoke
    done = await asyncio.to_thread(invoke, main.app, command)
    assert done.exit_code == 0, done.output
    assert "Waits are stated within 10%" in done.stderr
    line = (
        r"^Agent ci  5 asked  3 allowed, 1 denied, 1 withdrawn  half within [\d.]+ s  90 % within"
    )
    assert re.search(line, done.stdout, re.M), done.stdout
    assert f"Allowed 3 times  Run {grants.COMMAND}  a grant would do:" in done.stdout
    done = await asyncio.to_thread(invoke, main.app, [*command, "--json", "--weeks", "1"])
    assert json.loads(done.stdout) == await stats(api, "?weeks=1")


@pytest.mark.rule("NUMBERS-8")
async def test_only_what_ends_an_ask_concerns_the_numbers(api: Served) -> None:
    numbers = api.running.extensions.running["numbers"]
    assert numbers.kinds == frozenset({"ended"}), "a change without such a line does not call it"
    ask = new_ask(1)
    begun = Change(ask, request_entry(ask, ask.created_at))
    assert numbers.on_change(None, begun, ask.created_at) is NO_ROWS
    ended = end_ask(ask, Status.EXPIRED, at=2_000.0, reason=Reason.EXPIRED)
    assert len(numbers.on_change(ask, ended, 2_000.0).ask_rows) == 1
    assert numbers.on_change(ended.ask, ended, 2_000.0) is NO_ROWS, "it is counted once"


def _ended(status: Status, source: Source | None = None) -> tuple[Ask, Outcome]:
    ask = new_ask(1)
    outcome = Outcome(status=status, at=2_000.0, source=source)
    return replace(ask, outcome=outcome), outcome


@pytest.mark.rule("NUMBERS-2")
@pytest.mark.parametrize(
    ("status", "source", "expected"),
    [
        (Status.ANSWERED, Source.HUMAN, Result.ANSWERED),
        (Status.ANSWERED, Source.GRANT, Result.GRANTED),
        (Status.ANSWERED, Source.REMEMBERED, Result.AUTOMATIC),
        (Status.ANSWERED, Source.DEFAULT, Result.AUTOMATIC),
        *((each, None, Result(each.value)) for each in Status if each not in {Status.OPEN, Status.ANSWERED}),
    ],
)  # fmt: skip
def test_every_end_has_its_count(status: Status, source: Source | None, expected: Result) -> None:
    assert result_of(*_ended(status, source)) is expected


@pytest.mark.rule("NUMBERS-1")
def test_a_week_begins_on_monday_by_utc() -> None:
    day, monday = 24 * 3600.0, 60 * 24 * 3600.0
    assert [week_of(monday + each) for each in (-1.0, 0.0, 7 * day - 1, 7 * day)] == [
        "1970-02-23", "1970-03-02", "1970-03-02", "1970-03-09",
    ]  # fmt: skip
    assert week_of(monday, 2) == "1970-02-16"
    assert facts_of(*_ended(Status.EXPIRED)).week == "1969-12-29"
