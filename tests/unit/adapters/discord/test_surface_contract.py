"""Discord passes the suite of every surface, in both modes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from answerback.testing.surface_contract import SharedSurfaceContract, SurfaceContract
from tests.stores import setup_of, staged
from tests.unit.adapters.discord.desk import DiscordStage, stage_of


@pytest_asyncio.fixture(scope="class", loop_scope="class")
async def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[DiscordStage]:
    """A Discord that all cases share."""
    mode, where = request.param
    with setup_of(where, request, tmp_path_factory.mktemp("discord")) as setup:
        async with stage_of(setup, mode) as made:
            yield made


@staged(("gateway", "sqlite"), ("http", "sqlite"))
class TestDiscord(SurfaceContract):
    """`SurfaceContract`: Discord has all there is."""


@staged(("gateway", "replicas"), ("http", "replicas"))
class TestDiscordOnPostgres(SharedSurfaceContract):
    """Two services, which take what people do in turn."""
