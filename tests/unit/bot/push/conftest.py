"""The pages with notifications that most tests here use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.bot.push.push_support import Rig, push_rig


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """A site with notifications, by the rules that hold by default."""
    async with push_rig(tmp_path) as running:
        yield running
