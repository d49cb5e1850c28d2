"""The cache of channels and threads."""

from __future__ import annotations

import pytest

from answerback.runtime.sockets import chat_http_session
from answerback_discord import channels
from answerback_discord.api_client import DiscordApi
from tests.fakes.discord.server import FakeDiscord


async def test_the_least_recently_used_place_is_forgotten_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channels, "_REMEMBERED", 2)
    async with FakeDiscord() as discord, chat_http_session() as http:
        known = channels.ChannelDirectory(
            DiscordApi(http, discord.application.token, discord.api_url)
        )
        guild = discord.add_guild()
        often, once, then = (discord.add_channel(guild, name) for name in ("often", "once", "then"))
        for channel in (often, once, often, then, often, once):
            assert (await known.get_place(str(channel.id))).guild == str(guild.id)
        counts = [discord.faults.count(f"GET /channels/{each.id}") for each in (often, once, then)]
        assert counts == [1, 2, 1]
