"""The web page passes the suite of every surface."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from answerback.testing.simulated_people import Capability
from answerback.testing.surface_contract import SharedSurfaceContract, SurfaceContract
from tests.stores import setup_of, staged
from tests.unit.adapters.web.desk import WebStage, stage_of


@pytest_asyncio.fixture(scope="class", loop_scope="class")
async def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[WebStage]:
    """A site that all cases share."""
    _, where = request.param
    with setup_of(where, request, tmp_path_factory.mktemp("web")) as setup:
        async with stage_of(setup) as made:
            yield made


LACKS = {
    Capability.MODALS: "Everything is written on the page itself.",
    Capability.TYPED_ANSWERS: "There is nobody to talk to beside the question.",
    Capability.REMINDERS: "A page cannot reach who does not look at it.",
    Capability.MENTIONS: "A page notifies nobody, whatever it shows.",
    Capability.DELETION: "A page is made whenever it is opened.",
    Capability.RATE_LIMITS: "There is no platform in between.",
}


@staged(("page", "sqlite"))
class TestWeb(SurfaceContract):
    """`SurfaceContract`, without what a page of one's own does not have."""

    lacks = LACKS


@staged(("page", "postgresql"), ("page", "replicas"))
class TestWebOnPostgres(SharedSurfaceContract):
    """One service, and two that take what people do in turn."""

    lacks = LACKS
