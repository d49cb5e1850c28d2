"""What Discord's tests share: a gateway that lets a client identify at once."""

from __future__ import annotations

import discord
import pytest

from tests.fakes import unhurried


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Discord waits as long as a busy machine needs."""
    unhurried.discord(monkeypatch)


@pytest.fixture(autouse=True)
def identify_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Discord limits how often a bot identifies, and discord.py pauses five seconds for that; our fake does not."""

    async def go_on(_client: discord.Client, _shard: int | None, *, initial: bool = False) -> None:
        """Waits for nothing."""

    monkeypatch.setattr(discord.Client, "before_identify_hook", go_on)
