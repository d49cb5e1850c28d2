"""Reports of what an agent's server has taken: they hold up nothing for long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from answerback_agents.bridges.ask_people import RequestAsker
from answerback_agents.bridges.outcome_reports import OutcomeReports
from answerback_client import AsyncClient
from tests.service_support import WAIT


class Away(RequestAsker):
    """A service that is down."""

    async def report_outcomes(self, ask_ids: Sequence[str], *, taken: bool) -> None:
        await asyncio.Event().wait()


async def test_a_bridge_ends_even_if_the_service_is_down() -> None:
    async with AsyncClient() as client, asyncio.timeout(WAIT), asyncio.TaskGroup() as tasks:
        reports = OutcomeReports(Away(client, {}, None), tasks, patience=0.01)
        reports.start(["ask_1"])
        await reports.end()
