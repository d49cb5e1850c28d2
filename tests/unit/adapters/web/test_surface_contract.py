"""The web page passes the contract of surfaces."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from answerback_testing.simulated_people import Capability
from answerback_testing.surface_contract import SharedSurfaceContract, SurfaceContract
from tests.surface_setups import create_setup, parametrize_stage
from tests.unit.adapters.web.simulated_people import WebStage, run_stage


@pytest_asyncio.fixture(scope="class", loop_scope="class")
async def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[WebStage]:
    """A site that all tests share."""
    _, where = request.param
    with create_setup(where, request, tmp_path_factory.mktemp("web")) as setup:
        async with run_stage(setup) as stage:
            yield stage


UNSUPPORTED = {
    Capability.FILE_FORMS: "Files are attached by the page's own script; its own tests prove that.",
    Capability.SENT_FILES: "There is no conversation around the question.",
    Capability.EDITS: "The page has an editor of its own.",
    Capability.COMMANDS: "People use the page itself.",
    Capability.MODALS: "All input is on the page itself.",
    Capability.TYPED_ANSWERS: "There is no conversation around the question.",
    Capability.REMINDERS: "A page cannot reach people who are not looking at it.",
    Capability.MENTIONS: "A page notifies nobody, whatever it shows.",
    Capability.DELETION: "A page is rendered whenever it is opened.",
    Capability.GROUPS: "Responders on the web are single people.",
    Capability.RATE_LIMITS: "There is no platform in between.",
    Capability.PAYLOADS: "There is no platform in between.",
    Capability.LATE_EDITS: "There is no platform in between.",
    Capability.LATE_POSTS: "There is no platform in between.",
    Capability.OWN_HISTORY: "There is no platform in between.",
    Capability.SECOND_MESSAGES: "There is no platform in between.",
    Capability.TOKENS: "There is no platform in between.",
    Capability.UNNOTICED_CHANGES: "There is no platform in between.",
    Capability.KILLS: "The page acknowledges nothing before it is decided.",
    Capability.REMOVAL: "There is no platform in between.",
    Capability.DIRECT_MESSAGES: "Every question has its page; nobody is written to.",
    Capability.PLACES: "Every question has its page.",
}


@parametrize_stage("page", "sqlite")
class TestWeb(SurfaceContract):
    """`SurfaceContract`, without the capabilities that a page lacks."""

    unsupported = UNSUPPORTED


@parametrize_stage("page", "replicas")
class TestWebOnPostgres(SharedSurfaceContract):
    """Two services that handle people's actions in turn."""

    unsupported = UNSUPPORTED
