"""Fixtures of all Discord tests: long deadlines, and a gateway that lets a client identify at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import discord
import pytest

from tests.fakes import long_timeouts
from tests.unit.adapters.discord.rig import Rig, rig


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


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Rig]:
    """Everything, with a gateway. The contract of surfaces shows that people's actions count in either mode."""
    async with rig(tmp_path) as made:
        yield made
