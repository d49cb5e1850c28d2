"""The real process with Discord, killed with -9 while people act: nothing lost or doubled, every message correct."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests import postgres
from tests.acceptance.process import Process, serving
from tests.fakes.discord.interactions import Interaction
from tests.fakes.discord.person import Person
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.visible_message import NotPossibleError
from tests.fakes.discord.world import Channel
from tests.ports import free_port

pytestmark = pytest.mark.acceptance

QUESTIONS: list[dict[str, Any]] = [
    {"id": f"q{n}", "text": f"Question {n}?", "answer_type": "boolean"} for n in range(1, 9)
]
KILLS = 4
RUNS = [("gateway", "sqlite"), ("http", "sqlite"), ("gateway", "postgresql")]
"""The ways in which clicks come in, each with a store."""


@dataclass
class Run:
    """Where and how the process runs."""

    mode: str
    database: str
    folder: Path
    port: int
    server: postgres.Server | None
    """The PostgreSQL server, if it stores the asks."""


@pytest.fixture(params=RUNS, ids=":".join)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Run]:
    mode, store = request.param
    with postgres.database_of(request, tmp_path, store) as database:
        server = None if store == "sqlite" else request.getfixturevalue("postgres_server")
        yield Run(mode, database, tmp_path, free_port(), server)


def environment(discord: FakeDiscord, run: Run) -> Mapping[str, str]:
    made = {
        "DISCORD_BOT_TOKEN": discord.application.token,
        "ANSWERBACK_DISCORD__API_URL": discord.api_url,
        "ANSWERBACK_STORAGE__URL": run.database,
    }
    if run.mode == "http":
        made["DISCORD_PUBLIC_KEY"] = discord.application.public_key
        made["ANSWERBACK_PUBLIC__PORT"] = str(run.port)
        endpoint = f"http://127.0.0.1:{run.port}/discord/interactions"
        discord.application.interactions_endpoint_url = endpoint
    return made


@asynccontextmanager
async def up(discord: FakeDiscord, run: Run) -> AsyncIterator[tuple[Process, str]]:
    before = len(discord.gateway.sessions)
    if before and run.server:
        run.server.expire_claims(run.database)  # claims that a killed process held
    async with serving(run.folder, environment(discord, run)) as (process, address):
        drain = asyncio.create_task(_drain(process))
        try:
            if run.mode == "gateway":
                await discord.bell.until(lambda: len(discord.gateway.sessions) > before)
            yield process, address
        finally:
            drain.cancel()
            await asyncio.gather(drain, return_exceptions=True)


async def _drain(process: Process) -> None:
    """Read the log, so that the process never blocks on a full pipe."""
    assert process.child.stderr is not None
    while await process.child.stderr.readline():
        pass


async def submit(
    address: str, channel: Channel, ann: Person, questions: list[dict[str, Any]] = QUESTIONS
) -> str:
    body = {
        "name": "ask_user",
        "arguments": {"questions": questions},
        "to": f"discord:{channel.id}",
        "responders": [str(ann.id)],
    }
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{address}/v1/asks", json=body) as response,
    ):
        assert response.status == 201, await response.text()
        return str((await response.json())["id"])


async def get_ask(address: str, ask_id: str) -> dict[str, Any]:
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{address}/v1/asks/{ask_id}") as response,
    ):
        found: dict[str, Any] = await response.json()
        return found


def question_shown(ann: Person, channel: Channel) -> int:
    """Return the number of the question that Ann sees; 0 once the message shows the record."""
    found = re.search(r"\*\*Question (\d)\?\*\*", ann.latest(channel).text)
    return int(found[1]) if found and ann.latest(channel).controls else 0


@pytest.mark.rule("PLACE-5", "DATA-2", "DATA-3")
async def test_kill_9_at_any_moment_loses_nothing_and_repeats_nothing(run: Run) -> None:
    chance = random.Random(7)
    async with FakeDiscord() as discord:
        channel = discord.add_channel(guild := discord.add_guild())
        ann = discord.person("ann", guild)
        ask_id, confirmed = "", 1
        ask: dict[str, Any] = {}
        for kill in range(KILLS + 1):
            async with up(discord, run) as (process, address):
                ask_id = ask_id or await submit(address, channel, ann)
                number = await wait_until_shown(address, ask_id, ann, channel)
                assert number == 0 or number >= confirmed
                if kill == KILLS:
                    await answer_to_the_end(ann, channel)
                    ask = await get_ask(address, ask_id)
                    break
                confirmed = await click_until_killed(process, ann, channel, number, chance)
        assert ask["status"] == "answered"
        assert ask["answers"] == {f"q{n}": True for n in range(1, 9)}
        posts = [m for m in channel.messages.values() if m.author_id == discord.bot.id]
        assert sum(not m.ephemeral for m in posts) == 1, (
            "Ann alone may be told that a click was late"
        )


@pytest.mark.rule("TYPED-8")
async def test_words_typed_while_the_process_is_killed_are_accepted_once(run: Run) -> None:
    question = {"id": "why", "text": "Why?", "answer_type": "text"}
    async with FakeDiscord() as discord:
        channel = discord.add_channel(guild := discord.add_guild())
        ann = discord.person("ann", guild)
        async with up(discord, run) as (process, address):
            two = [question, {**question, "id": "more"}]
            ask_id = await submit(address, channel, ann, two)
            await ann.until(lambda: is_posted(ann, channel))
            process.child.kill()
            await process.child.wait()
        discord.gateway.forget_sessions()
        said = ann.replies(ann.latest(channel).message, "because")
        for _ in range(2):
            async with up(discord, run) as (_, address):
                await ann.until(lambda: "✅" in said.reactions)
                assert (await get_ask(address, ask_id))["answers"] == {"why": "because"}
                await ann.finds("because", channel)


async def wait_until_shown(address: str, ask_id: str, ann: Person, channel: Channel) -> int:
    """Wait until the message shows what is stored; return the number of the question."""
    prompt = (await get_ask(address, ask_id))["prompt"]
    stored = int(prompt["position"]) if prompt else 0
    await ann.until(
        lambda: is_posted(ann, channel) and question_shown(ann, channel) == stored, timeout=15
    )
    return stored


def is_posted(ann: Person, channel: Channel) -> bool:
    try:
        ann.latest(channel)
    except NotPossibleError:
        return False
    return True


async def click_until_killed(
    process: Process, ann: Person, channel: Channel, number: int, chance: random.Random
) -> int:
    """Click Yes through the form while the process is killed; return the question after the last confirmed click."""
    asyncio.get_running_loop().call_later(chance.uniform(0.0, 0.08), process.child.kill)
    confirmed = number
    while process.child.returncode is None and confirmed:
        click = await ann.click("Yes", channel=channel, wait=False)
        gone = asyncio.create_task(process.child.wait())
        done = asyncio.create_task(ann.until(lambda c=click: c.state != "waiting", timeout=4))  # type: ignore[misc]
        await asyncio.wait({gone, done}, return_when=asyncio.FIRST_COMPLETED)
        done.cancel()
        if not is_confirmed(click):
            break
        confirmed = question_shown(ann, channel)
    await process.child.wait()
    return confirmed or 9


def is_confirmed(click: Interaction) -> bool:
    return click.state == "answered"


async def answer_to_the_end(ann: Person, channel: Channel) -> None:
    while question_shown(ann, channel):
        done = await ann.click("Yes", channel=channel)
        assert done.answered
    await ann.finds("Answered by Ann", channel)
