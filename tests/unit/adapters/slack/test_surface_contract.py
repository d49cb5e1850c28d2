"""Slack passes the suite of every surface, in both modes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.testing.surface_contract import SurfaceContract
from tests.unit.adapters.slack.desk import SlackDesk
from tests.unit.adapters.slack.rig import MODES, rig


class TestSlack(SurfaceContract):
    @pytest.fixture(params=MODES)
    async def desk(
        self, request: pytest.FixtureRequest, tmp_path: Path
    ) -> AsyncIterator[SlackDesk]:
        async with rig(tmp_path, request.param) as up:
            yield SlackDesk(up)
