"""The web page passes the suite of every surface."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from answerback.testing.simulated_people import Capability
from answerback.testing.surface_contract import SharedSurfaceContract, SurfaceContract
from tests.stores import create_setup, parametrize_stage
from tests.unit.adapters.web.desk import WebStage, run_stage


@pytest_asyncio.fixture(scope="class", loop_scope="class")
async def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[WebStage]:
    """A site that all cases share."""
    _, where = request.param
    with create_setup(where, request, tmp_path_factory.mktemp("web")) as setup:
        async with run_stage(setup) as made:
            yield made


UNSUPPORTED = {
    Capability.MODALS: "Everything is written on the page itself.",
    Capability.TYPED_ANSWERS: "There is nobody to talk to beside the question.",
    Capability.REMINDERS: "A page cannot reach who does not look at it.",
    Capability.MENTIONS: "A page notifies nobody, whatever it shows.",
    Capability.DELETION: "A page is made whenever it is opened.",
    Capability.RATE_LIMITS: "There is no platform in between.",
}


@parametrize_stage(("page", "sqlite"))
class TestWeb(SurfaceContract):
    """`SurfaceContract`, without what a page of one's own does not have."""

    unsupported = UNSUPPORTED


@parametrize_stage(("page", "postgresql"), ("page", "replicas"))
class TestWebOnPostgres(SharedSurfaceContract):
    """One service, and two that take what people do in turn."""

    unsupported = UNSUPPORTED
