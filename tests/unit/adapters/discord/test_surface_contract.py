"""Discord passes the suite of every surface, in both modes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.testing.surface_contract import SurfaceContract
from tests.unit.adapters.discord.desk import DiscordDesk
from tests.unit.adapters.discord.rig import MODES, Mode, rig


class TestDiscord(SurfaceContract):
    @pytest.fixture(params=MODES)
    async def desk(
        self, request: pytest.FixtureRequest, tmp_path: Path
    ) -> AsyncIterator[DiscordDesk]:
        mode: Mode = request.param
        async with rig(tmp_path, mode) as up:
            yield DiscordDesk(up)
