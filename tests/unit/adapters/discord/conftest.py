"""Fixtures of all Discord tests: long deadlines, and a gateway that lets a client identify at once."""

from __future__ import annotations

import discord
import pytest

from tests.fakes import long_timeouts


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Discord's deadlines are long enough for a busy machine."""
    long_timeouts.discord(monkeypatch)


@pytest.fixture(autouse=True)
def identify_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip discord.py's five-second pause before identifying, because the fake does not limit that."""

    async def go_on(_client: discord.Client, _shard: int | None, *, initial: bool = False) -> None:
        """Do not wait."""

    monkeypatch.setattr(discord.Client, "before_identify_hook", go_on)
