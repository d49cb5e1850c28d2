"""Kill -9 while a person decides about several permissions in a list: each is decided or not, and the rest can be."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from answerback.testing.simulated_people import HasBatches
from tests import postgres
from tests.acceptance.process import QUIET, serving
from tests.acceptance.test_batches import is_decided
from tests.fakes import long_timeouts
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.slack.server import FakeSlack
from tests.fakes.telegram.server import FakeTelegram
from tests.unit.adapters.discord.batch_lists import DiscordBatches
from tests.unit.adapters.slack.batch_lists import SlackBatches
from tests.unit.adapters.telegram.batch_lists import TelegramBatches

KILLS = 3
ASKS = 6
"""As many as the smallest page of a list has."""


class Town(NamedTuple):
    """A platform that outlives the process, and a person there."""

    environment: dict[str, str]
    place: str
    user_id: str
    lists: HasBatches
    seconds: float = 0.1
    """How long ticking and deciding take about."""


class SlackPerson(SlackBatches):
    """A person at Slack."""

    def __init__(self, slack: FakeSlack) -> None:
        self._slack, self._person = slack, slack.person("U0ADA", "ada")


class DiscordPerson(DiscordBatches):
    """A person at Discord."""

    def __init__(self, discord: FakeDiscord) -> None:
        guild = discord.add_guild()
        self._discord, self._channel = discord, discord.add_channel(guild)
        self._person, self._asked_for = discord.person("ada", guild), set()


class TelegramPerson(TelegramBatches):
    """A person at Telegram."""

    def __init__(self, telegram: FakeTelegram) -> None:
        self._telegram, self._user = telegram, telegram.add_user("Ada")


@asynccontextmanager
async def slack_town(port: int) -> AsyncIterator[Town]:
    async with FakeSlack() as slack:
        person = SlackPerson(slack)
        slack.workspace.add_channel("C0OPS", "U0ADA")
        slack.deliver_to(f"http://127.0.0.1:{port}/slack/events")
        environment = {
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_SIGNING_SECRET": slack.signing_secret,
            "ANSWERBACK_SLACK__API_URL": slack.api_url,
        }
        yield Town(environment, "slack:C0OPS", "U0ADA", person)


@asynccontextmanager
async def discord_town(port: int) -> AsyncIterator[Town]:
    async with FakeDiscord() as discord:
        person = DiscordPerson(discord)
        application = discord.application
        application.interactions_endpoint_url = f"http://127.0.0.1:{port}/discord/interactions"
        environment = {
            "DISCORD_BOT_TOKEN": application.token,
            "DISCORD_PUBLIC_KEY": application.public_key,
            "ANSWERBACK_DISCORD__API_URL": discord.api_url,
        }
        yield Town(environment, f"discord:{person._channel.id}", str(person._person.id), person)


@asynccontextmanager
async def telegram_town(port: int) -> AsyncIterator[Town]:
    async with FakeTelegram() as telegram:
        person, group = TelegramPerson(telegram), telegram.add_group()
        group.members[person._user.id] = "member"
        environment = {
            "TELEGRAM_BOT_TOKEN": telegram.token,
            "ANSWERBACK_TELEGRAM__API_URL": telegram.url,
        }
        yield Town(environment, f"telegram:{group.id}", str(person._user.id), person, 0.6)


TOWNS: dict[str, Callable[[int], AbstractAsyncContextManager[Town]]] = {
    "slack": slack_town,
    "discord": discord_town,
    "telegram": telegram_town,
}


@pytest.fixture(params=TOWNS)
async def town(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Town]:
    for patch in (long_timeouts.slack, long_timeouts.discord):
        patch(monkeypatch)
    port = postgres.free_port()
    async with TOWNS[request.param](port) as made:
        made.environment["ANSWERBACK_PUBLIC__PORT"] = str(port)
        yield made


async def submit(http: aiohttp.ClientSession, town: Town, number: int) -> str:
    call = {
        "name": "PermissionRequest",
        "dialect": "approval",
        "arguments": {"tool_name": "Bash", "tool_input": {"command": f"make {number}"}},
        "to": town.place,
        "responders": [town.user_id],
    }
    async with http.post("/v1/asks", json=call) as response:
        made: dict[str, Any] = await response.json()
        assert response.status == 201, made
        return str(made["id"])


@pytest.mark.long
@pytest.mark.rule("BATCH-5", "BATCH-2")
@pytest.mark.acceptance
@pytest.mark.timeout(480)
async def test_a_service_killed_while_a_list_is_decided_leaves_every_ask_decided_or_not(
    town: Town, tmp_path: Path
) -> None:
    chance = random.Random(5)
    environment = QUIET | town.environment
    for kill in range(KILLS):
        async with (
            serving(tmp_path, environment) as (process, url),
            aiohttp.ClientSession(url) as http,
        ):
            asks = [await submit(http, town, kill * ASKS + n) for n in range(ASKS)]
            assert [*await town.lists.list_tickable(allow=True)] == asks
            deciding = asyncio.create_task(town.lists.decide_ticked(asks, allow=True))
            await asyncio.sleep(
                chance.uniform(0.0, town.seconds)
            )  # any moment may be the critical one
            process.signal(signal.SIGKILL)
            await process.child.wait()
        async with serving(tmp_path, environment) as (_, url), aiohttp.ClientSession(url) as http:
            # The platform may send the click again, or tell the person that it failed.
            await asyncio.gather(deciding, return_exceptions=True)
            for ask in asks:
                await is_decided(http, ask)
            while rows := await town.lists.list_tickable(allow=True):
                await town.lists.decide_ticked([*rows], allow=True)
            assert all([await is_decided(http, ask) for ask in asks])
