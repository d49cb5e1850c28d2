"""Discord passes the contract of surfaces: whole over HTTP, and in both modes what the mode could affect."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from answerback_testing.surface_contract import SurfaceContract
from tests.surface_setups import ReplicasContract, create_setup, parametrize_stage
from tests.unit.adapters.discord.stage import DiscordStage, run_stage


@pytest_asyncio.fixture(scope="class", loop_scope="class")
async def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[DiscordStage]:
    """A Discord that all cases share."""
    mode, where = request.param
    with create_setup(where, request, tmp_path_factory.mktemp("discord")) as setup:
        async with run_stage(setup, mode) as made:
            yield made


@parametrize_stage("http", "sqlite")
class TestDiscord(SurfaceContract):
    """`SurfaceContract`; Discord has all optional capabilities."""


class TestDiscordOnPostgres(ReplicasContract):
    """Two replicas, which handle people's actions in turn."""

    modes = ("gateway", "http")
