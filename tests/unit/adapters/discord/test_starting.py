"""A start while Discord is away, and a stop before it is back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from adapters.discord import adapter
from tests.fakes.discord.server import FakeDiscord
from tests.unit.adapters.discord.rig import surface_in_front_of

ME = "GET /users/@me"


@pytest.mark.parametrize("status", [403, 500])
async def test_discord_that_is_away_at_the_start_is_asked_again_until_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(adapter, "_INTRODUCE_AGAIN", 0.01)
    async with FakeDiscord() as discord:
        discord.faults.server_error(ME, status=status, times=1_000)
        up = surface_in_front_of(discord, tmp_path / "a.db", "http", gateway=False)
        async with up as (surface, *_):
            before = discord.faults.count(ME)
            assert surface.ready() is None, "clicks come in without it"
            await discord.faults.called(ME, before + 2)
            discord.faults.clear()
            asked = len(await discord.faults.called(ME, discord.faults.count(ME) + 1))
            assert discord.faults.calls(ME)[asked - 1].status == 200


async def test_a_stop_does_not_wait_for_a_discord_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "_INTRODUCE_AGAIN", 3_600.0)
    monkeypatch.setattr(adapter, "_STOP_WITHIN", 3_600.0)
    async with FakeDiscord() as discord:
        discord.faults.server_error(ME, times=1_000)
        async with asyncio.timeout(30):
            async with surface_in_front_of(discord, tmp_path / "a.db", "http", gateway=False):
                pass
            assert discord.faults.count(ME) > 0
