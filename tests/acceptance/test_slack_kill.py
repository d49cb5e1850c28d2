"""The real process is killed at the worst moments: Slack ends up showing what is stored, once."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback.core.labels import Labels
from tests import postgres
from tests.acceptance.process import Process, serving
from tests.fakes import long_timeouts
from tests.fakes.slack.person import Person
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.workspace import Message
from tests.ports import free_port

LABELS = Labels()
CHANNEL = "C0OPS"
QUESTIONS = 9
RUNS = [("socket", "sqlite"), ("http", "postgresql")]
"""The ways in which clicks come in, each with a store. The simulation has both ways with SQLite, and more moments."""
CHANCES = 2
"""Times that the process is killed around a click, at a random moment."""


@dataclass
class Town:
    """A fake Slack that outlives the process."""

    slack: FakeSlack
    ada: Person
    folder: Path
    environment: dict[str, str]
    server: postgres.Server | None
    """The PostgreSQL server, if it stores the asks."""

    @asynccontextmanager
    async def up(self) -> AsyncIterator[tuple[Process, aiohttp.ClientSession]]:
        """Run the process, connected; the claims of the one that was killed before it are released."""
        if self.slack.messages(CHANNEL) and self.server:
            self.server.expire_claims(self.environment["ANSWERBACK_STORAGE__URL"])
        async with (
            serving(self.folder, self.environment) as (process, url),
            aiohttp.ClientSession(url) as http,
        ):
            if not self.slack.http.url:
                await self.slack.socket.connected()
            yield process, http
            if process.child.returncode is None:
                process.signal(signal.SIGKILL)
                await process.child.wait()
            if not self.slack.http.url:
                await self.slack.socket.connected(0)

    def message(self) -> Message:
        """Return the only message."""
        [message] = self.slack.messages(CHANNEL)
        return message

    def number(self) -> int | None:
        """Return the number of the question that the message shows; None at the end."""
        text = self.ada.sees(self.message()).text
        shown = [n for n in range(QUESTIONS) if f"Question {n}?" in text.splitlines()]
        return shown[-1] if LABELS.yes in self.ada.sees(self.message()).buttons else None

    async def wait_until_shown(self, number: int | None) -> None:
        """Wait until the message shows this question, or the record if None."""
        await self.slack.until(lambda: self.number() == number)


@pytest.fixture(params=RUNS, ids=":".join)
async def town(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Town]:
    mode, store = request.param
    with postgres.database_of(request, tmp_path, store) as database:
        server = None if store == "sqlite" else request.getfixturevalue("postgres_server")
        async with town_in(tmp_path, mode, database, server) as made:
            yield made


@asynccontextmanager
async def town_in(
    folder: Path, mode: str, database: str, server: postgres.Server | None
) -> AsyncIterator[Town]:
    """Yield a town whose service runs on this database."""
    async with FakeSlack() as slack:
        ada = slack.person("U0ADA", "ada")
        slack.workspace.add_channel(CHANNEL, ada.id)
        environment = {
            "SLACK_BOT_TOKEN": slack.bot_token,
            "ANSWERBACK_SLACK__API_URL": slack.api_url,
            "ANSWERBACK_STORAGE__URL": database,
        }
        if mode == "socket":
            environment["SLACK_APP_TOKEN"] = slack.app_token
        else:
            port = free_port()
            environment["SLACK_SIGNING_SECRET"] = slack.signing_secret
            environment["ANSWERBACK_PUBLIC__PORT"] = str(port)
            slack.deliver_to(f"http://127.0.0.1:{port}/slack/events")
        yield Town(slack, ada, folder, environment, server)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Slack wait as long as a busy machine needs; it notices a killed process at once."""
    long_timeouts.slack(monkeypatch)


@pytest.mark.rule("PLACE-5", "DATA-2", "DATA-3")
@pytest.mark.acceptance
async def test_a_walk_continues_after_every_kill_and_nothing_is_doubled(town: Town) -> None:
    slack = town.slack

    # between the post and the note that it was sent
    slack.faults.add("chat.postMessage", hang=True, when="after", times=None)
    async with town.up() as (_, http):
        ask_id = (await submit(http))["id"]
        await slack.until(lambda: slack.messages(CHANNEL))
    slack.faults.clear()

    # between a commit and the update that shows it
    async with town.up() as (process, _):
        await town.wait_until_shown(0)
        slack.faults.add("chat.update", hang=True, times=None)
        ack = await town.ada.click(town.message(), LABELS.yes)
        assert ack is not None
        assert ack.ok
        process.signal(signal.SIGKILL)
        await process.child.wait()
    slack.faults.clear()
    done = 1

    # at a random moment around a click
    chance, acked = random.Random(7), False
    for _ in range(CHANCES):
        async with town.up() as (process, http):
            done = await wait_until_caught_up(town, http, ask_id, done, acked=acked)
            clicking = asyncio.create_task(town.ada.click(town.message(), LABELS.yes))
            await asyncio.sleep(chance.uniform(0, 0.012))
            process.signal(signal.SIGKILL)
            ack = await clicking
            acked = ack is not None and ack.ok

    async with town.up() as (_, http):
        done = await wait_until_caught_up(town, http, ask_id, done, acked=acked)
        for number in range(done, QUESTIONS):
            await town.wait_until_shown(number)
            await town.ada.click(town.message(), LABELS.yes)
        await town.wait_until_shown(None)
        ended = await get_ask(http, ask_id)
        assert ended["status"] == "answered"
        assert ended["answers"] == {f"q{n}": True for n in range(QUESTIONS)}
    assert "Answered by ada" in town.ada.sees(town.message()).text


@pytest.mark.rule("TYPED-8")
@pytest.mark.acceptance
async def test_words_typed_while_the_process_is_killed_are_accepted_once(town: Town) -> None:
    slack, question = town.slack, {"id": "why", "text": "Why?", "answer_type": "text"}
    slack.faults.add("chat.postMessage", hang=True, when="after", times=None)
    async with town.up() as (process, http):
        ask = await submit(http, [question, {**question, "id": "more"}])
        await slack.until(lambda: slack.messages(CHANNEL))
        process.signal(signal.SIGKILL)
    slack.faults.clear()
    slack.event_types = set()  # Slack has stopped repeating them
    live = town.message()
    said = await town.ada.mention_bot(CHANNEL, "because", thread=live.ts)
    for _ in range(2):
        async with town.up() as (_, http):
            await slack.until(lambda: said.reactions)
            assert (await get_ask(http, ask["id"]))["answers"] == {"why": "because"}
            await slack.until(lambda: "because" in town.ada.sees(live).text)


async def wait_until_caught_up(
    town: Town, http: aiohttp.ClientSession, ask_id: str, before: int, *, acked: bool
) -> int:
    """Return how many answers are stored, once the message shows them all; acknowledged ones are among them."""
    counted = len((await get_ask(http, ask_id))["answers"])
    assert counted in {before, before + 1}
    assert counted == before + 1 or not acked
    await town.wait_until_shown(counted)
    return counted


MANY = [
    {"id": f"q{n}", "text": f"Question {n}?", "answer_type": "boolean"} for n in range(QUESTIONS)
]


async def submit(
    http: aiohttp.ClientSession, questions: Sequence[dict[str, str]] = MANY
) -> dict[str, Any]:
    """Submit an ask with these questions, or with many yes-or-no questions."""
    body = {
        "name": "ask_user",
        "arguments": {"questions": [*questions]},
        "to": f"slack:{CHANNEL}",
        "responders": ["U0ADA"],
    }
    async with http.post("/v1/asks", json=body) as response:
        ask: dict[str, Any] = await response.json()
        assert response.status == 201, ask
        return ask


async def get_ask(http: aiohttp.ClientSession, ask_id: str) -> dict[str, Any]:
    """Return the stored ask."""
    async with http.get(f"/v1/asks/{ask_id}") as response:
        ask: dict[str, Any] = await response.json()
        return ask
