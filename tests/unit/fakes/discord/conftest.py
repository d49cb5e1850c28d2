"""Fixtures: a running fake, a channel in it, and a bare HTTP client with the bot's headers."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.fakes.discord.problems import Payload
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.world import Channel


class Rest:
    """Calls the fake's routes as a bot would, and returns each response as (status, JSON)."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self._session, self._base = session, base

    async def __call__(
        self, method: str, path: str, body: Payload | None = None
    ) -> tuple[int, Any]:
        async with self._session.request(method, self._base + path, json=body) as response:
            return response.status, await response.json() if response.status != 204 else {}


@pytest.fixture
async def fake() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as running:
        yield running


@pytest.fixture
def channel(fake: FakeDiscord) -> Channel:
    return fake.add_channel(fake.add_guild())


@pytest.fixture
async def rest(fake: FakeDiscord) -> AsyncIterator[Rest]:
    headers = {
        "Authorization": f"Bot {fake.application.token}",
        "User-Agent": "DiscordBot (https://example.com, 1.0)",
    }
    async with aiohttp.ClientSession(headers=headers) as session:
        yield Rest(session, fake.api_url)
