"""People say that they are away in a chat and on the page; the page needs no script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import aiohttp
import pytest
from pydantic import JsonValue

from answerback.core.ask import Destination
from answerback.core.person import Person
from answerback.ports.commands import CommandUse
from answerback.runtime.app import RunningService, run_service
from answerback.runtime.config import settings_type
from answerback.service.submission_request import read_submission
from answerback_away import texts
from answerback_storage.personal_links_file import PersonalLinksFile
from tests.unit.adapters.web.reader import Document
from tests.unit.bot.away.team import ANN, BOB, CY, Team
from tests.unit.bot.conftest import Parts


async def say(team: Team, line: str, person: Person = ANN, *, pressed: bool = False) -> str:
    """Give a command as a chat does; return what the person reads."""
    name, _, text = line.partition(" ")
    [command] = [each for each in team.away.commands() if each.name == name]
    return (await command.answer(CommandUse(person, text, pressed))).text


@pytest.mark.rule("AWAY-1")
@pytest.mark.parametrize(
    "who", ["bob", "Bob B.", "@bob", "<@bob>", "<@bob|Bobby>", "chat:bob", "person:bob"]
)
async def test_who_stands_in_is_named_as_people_and_chats_write_it(parts: Parts, who: str) -> None:
    team = Team(parts)
    answer = await say(team, f"away 3d {who}")
    assert answer.startswith("You are away until 2027-01-18 08:00 UTC. ")
    assert "stands in for you" in answer
    ask = await team.step(await team.ask("ann"))
    assert ask.placement.responders == ("ann", "bob")


@pytest.mark.rule("AWAY-1")
async def test_a_command_says_what_holds_and_takes_it_back(parts: Parts) -> None:
    team = Team(parts)
    assert (await say(team, "away")).startswith(texts.HERE)
    await say(team, "away 4h bob")
    [command] = [each for each in team.away.commands() if each.name == "away"]
    shown = await command.answer(CommandUse(ANN))
    [button] = shown.buttons
    assert button.label == texts.BACK
    assert (await say(team, button.command, pressed=True)).startswith(texts.HERE)


@pytest.mark.rule("AWAY-1", "AWAY-3")
@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("away bob", texts.BAD_TIME),
        ("away 3d", texts.NOBODY),
        ("away 3d slack:", texts.NOBODY),
        ("away 3d slack:U012", texts.NOBODY),
        ("away 3d bobb", texts.NOBODY),
        ("away 3d anyone", texts.NOBODY),
        ("away 3d chat:@ops", texts.NOBODY),
        ("away 3d web:anyone", texts.NOBODY),
        ("away 3d Eve", texts.SEVERAL),
        ("away 3d ann", texts.REFUSED["self"]),
        ("away 3d cy", texts.REFUSED["circle"]),
        ("hours 9", texts.BAD_HOURS),
    ],
)
async def test_what_cannot_be_is_refused_with_a_reason(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, line: str, answer: str
) -> None:
    def problem(place: Destination) -> str | None:
        return "no id" if place.user == "bobb" else None

    monkeypatch.setattr(parts.chat, "destination_problem", problem)
    team = Team(parts)
    await team.leave(CY, ANN)
    assert (await say(team, line)).startswith(answer)
    said = await team.away.said_by(ANN)
    assert (said.absence, said.hours) == (None, None)


@pytest.mark.rule("AWAY-6")
async def test_hours_are_said_in_a_chat_too(parts: Parts) -> None:
    team = Team(parts)
    assert (await say(team, "hours")).startswith(texts.ANY_TIME)
    assert "09:00–17:00 Europe/Berlin" in await say(team, "hours 9-17 Europe/Berlin", BOB)
    assert "09:00–17:00" in await say(team, "away", BOB)
    assert (await say(team, "hours off", BOB)).startswith(texts.ANY_TIME)


ROUTE = {"to": "web", "responders": ["ann@example.com", "bob@example.com"]}


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[RunningService]:
    tables = {"server": {"port": 0}, "storage": {"url": f"sqlite:///{tmp_path}/asks.db"}}
    people = {"bob": {"name": "Bob B.", "ids": ["web:bob@example.com"]}}
    settings = settings_type().model_validate(
        {**tables, "people": people, "routes": {"ops": ROUTE}, "away": {"enabled": True}}
    )
    async with run_service(settings) as running:
        yield running


async def page_of(up: RunningService, folder: Path, name: str) -> str:
    """Return the address of a person's page about being away."""
    key = await asyncio.to_thread(PersonalLinksFile(folder / "asks.db").add, name, 1.0)
    assert key is not None
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{up.api_url}/?key={key}", allow_redirects=False) as response,
    ):
        return f"{up.api_url}/{response.headers['Location']}/away"


async def read(address: str) -> Document:
    async with aiohttp.ClientSession() as http, http.get(address) as response:
        return Document(await response.text(), response.status)


async def post(address: str, **form: str) -> tuple[int, str]:
    origin = f"{urlparse(address).scheme}://{urlparse(address).netloc}"
    headers = {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
    async with (
        aiohttp.ClientSession() as http,
        http.post(address, data=form, headers=headers, allow_redirects=False) as response,
    ):
        return response.status, Document(await response.text(), response.status).text


@pytest.mark.rule("AWAY-1", "AWAY-6")
async def test_a_person_says_on_their_page_that_they_are_away(
    up: RunningService, tmp_path: Path
) -> None:
    page = await page_of(up, tmp_path, "ann@example.com")
    inbox = await read(page.removesuffix("/away"))
    assert texts.TITLE in inbox.text
    assert texts.HERE in (await read(page)).text
    assert (await post(page, do="leave", until="3d", stand_in="Bob B."))[0] == 303
    assert "Bob B. stands in for you" in (await read(page)).text
    assert (await post(page, do="hours", hours="9-17 Europe/Berlin"))[0] == 303
    shown = await read(page)
    assert ("hours", "9:00-17:00 Europe/Berlin") in shown.fields
    assert (await post(page, do="back"))[0] == 303
    assert texts.HERE in (await read(page)).text
    for form, problem in (
        ({"do": "leave", "until": "x", "stand_in": "bob"}, texts.BAD_TIME),
        ({"do": "leave", "until": "3d", "stand_in": ""}, texts.NOBODY),
        ({"do": "leave", "until": "3d", "stand_in": "somebody"}, texts.NOBODY),
        ({"do": "leave", "until": "3d", "stand_in": "ann@example.com"}, texts.REFUSED["self"]),
        ({"do": "hours", "hours": "<b>"}, texts.BAD_HOURS),
    ):
        status, text = await post(page, **form)
        assert status == 422
        assert problem in text
    assert (await post(page, do="dance"))[0] == 422


@pytest.mark.rule("AWAY-1")
async def test_the_operators_key_is_nobody_who_could_be_away(up: RunningService) -> None:
    assert up.inbox_url is not None
    key = parse_qs(urlparse(up.inbox_url).query)["key"][0]
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{up.api_url}/?key={key}", allow_redirects=False) as response,
    ):
        inbox = f"{up.api_url}/{response.headers['Location']}"
    assert "/away" not in (await read(inbox)).markup
    assert (await read(f"{inbox}/away")).status == 404
    assert (await post(f"{inbox}/away", do="back"))[0] == 404


@pytest.mark.rule("AWAY-2")
async def test_a_running_service_hands_on_what_is_asked(up: RunningService, tmp_path: Path) -> None:
    page = await page_of(up, tmp_path, "ann@example.com")
    await post(page, do="leave", until="3d", stand_in="bob")
    call: JsonValue = {
        "name": "ask_user",
        "arguments": {"question": "Go?"},
        "to": "ops",
        "responders": ["ann@example.com"],
    }
    ask = (await up.service.submit(read_submission(call))).ask
    async with asyncio.timeout(60):
        with up.service.follow(ask.id) as following:
            now = await up.service.get(ask.id)
            while now is not None and now.placement.handed_over is None:
                now = await following.next_commit()
    assert now is not None
    assert now.placement.responders == ("ann@example.com", "bob@example.com")
