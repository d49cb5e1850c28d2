"""Reports in the background which outcomes an agent's server has taken."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from answerback_agents.bridges.ask_people import END_TIMEOUT, RequestAsker


@dataclass(frozen=True, slots=True)
class OutcomeReports:
    people: RequestAsker
    tasks: asyncio.TaskGroup
    patience: float = END_TIMEOUT
    """Seconds to wait for reports in progress."""
    _reporting: set[asyncio.Task[None]] = field(default_factory=set)

    def start(self, ask_ids: Sequence[str], *, taken: bool = True) -> None:
        """Start to report outcomes that the server has taken, or refused."""
        task = self.tasks.create_task(self.people.report_outcomes(ask_ids, taken=taken))
        self._reporting.add(task)
        task.add_done_callback(self._reporting.discard)

    async def wait(self) -> None:
        """Wait until the service has all reports, but not for long, if it is down."""
        if self._reporting:
            await asyncio.wait(self._reporting, timeout=self.patience)

    async def end(self) -> None:
        """Wait once more, and give up what is still not reported: it comes late."""
        await self.wait()
        for task in self._reporting:
            task.cancel()
