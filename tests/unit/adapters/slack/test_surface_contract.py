"""Slack passes the suite of every surface, in both modes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from answerback.testing.surface_contract import SurfaceContract
from tests.unit.adapters.slack.desk import SlackStage, stage_of
from tests.unit.adapters.slack.rig import MODES


@pytest_asyncio.fixture(scope="class", loop_scope="class", params=MODES)
async def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[SlackStage]:
    """A Slack that all cases share."""
    async with stage_of(tmp_path_factory.mktemp("slack"), request.param) as made:
        yield made


class TestSlack(SurfaceContract):
    """`SurfaceContract`: Slack has all there is."""
