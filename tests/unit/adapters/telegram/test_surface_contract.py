"""Telegram passes the contract of surfaces: whole over HTTP, and in both modes what the mode could affect."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from answerback_testing.simulated_people import Capability
from answerback_testing.surface_contract import SurfaceContract
from tests.surface_setups import ReplicasContract, create_setup, parametrize_stage
from tests.unit.adapters.telegram.stage import TelegramStage, run_stage

UNSUPPORTED = {
    Capability.FILE_FORMS: "There are no forms: people reply with messages.",
    Capability.KILLS: "What needs it are forms.",
    Capability.EDITS: "A call is changed in a form, never by a typed message: Telegram says where.",
    Capability.OWN_HISTORY: "A bot cannot read a chat: a second message goes at the first click on it.",
    Capability.DELETION: "Telegram tells no bot that a message was deleted; it is found at the next edit or start.",
}


@pytest_asyncio.fixture(scope="class", loop_scope="class")
async def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TelegramStage]:
    """A Telegram that all cases share."""
    mode, where = request.param
    with create_setup(where, request, tmp_path_factory.mktemp("telegram")) as setup:
        async with run_stage(setup, mode) as made:
            yield made


@pytest.mark.rule("TELEGRAM-1", "TELEGRAM-2", "TELEGRAM-3", "TELEGRAM-4", "TELEGRAM-5")
@parametrize_stage("http", "sqlite")
class TestTelegram(SurfaceContract):
    """`SurfaceContract`."""

    unsupported = UNSUPPORTED


class TestTelegramOnPostgres(ReplicasContract):
    """Two replicas, which handle people's actions in turn if these come by HTTP."""

    modes = ("polling", "http")

    unsupported = UNSUPPORTED
