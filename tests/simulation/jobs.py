"""The runner of SQLite's jobs in a simulation: each batch in one piece, some time after it was submitted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from answerback.core.errors import StoreError
from answerback_storage.sqlite.writer_thread import MAX_BATCH, Job
from tests.simulation.machine import Machine

C = TypeVar("C")
T = TypeVar("T")

_SECONDS: Final = (0.0001, 0.02)
"""The least and the most that a batch takes to begin, and its results to come back: a disk that syncs."""


class SimulatedRunner(Generic[C]):
    """See `answerback_storage.sqlite.writer_thread.JobThread`.

    Between a commit and the moment at which the loop learns of it, time passes: a process can die there.
    """

    def __init__(
        self, machine: Machine, _name: str, work: Callable[[Sequence[Job[C, Any]]], None]
    ) -> None:
        self._machine = machine
        self._work = work
        self._loop = asyncio.get_running_loop()
        self._queue: list[Job[C, Any]] = []
        self._patient: list[Job[C, Any]] = []
        """Jobs that wait for others, to share a batch with them."""
        self._busy = False
        self._stopping = False
        self._idle = asyncio.Event()
        self._idle.set()

    def submit(
        self,
        run: Callable[[C], T],
        then: Callable[[T], None] | None = None,
        *,
        within: float = 0.0,
    ) -> asyncio.Future[T]:
        if self._stopping:
            raise StoreError("The store is closed.")
        future: asyncio.Future[T] = self._loop.create_future()
        self._idle.clear()
        if within:
            self._patient.append(Job(run, future, then))
            self._loop.call_later(within, self._plan)
            return future
        self._queue.append(Job(run, future, then))
        self._plan()
        return future

    async def stop(self) -> None:
        self._stopping = True
        self._plan()
        await self._idle.wait()

    def _plan(self) -> None:
        self._queue, self._patient = [*self._queue, *self._patient], []
        if self._queue and not self._busy:
            self._busy = True
            self._loop.call_later(self._machine.random.uniform(*_SECONDS), self._run)

    def _run(self) -> None:
        batch, self._queue = self._queue[:MAX_BATCH], self._queue[MAX_BATCH:]
        try:
            self._work(batch)
        except Exception as error:  # noqa: BLE001 - as in the thread
            for job in batch:
                job.error = error
        self._loop.call_later(self._machine.random.uniform(*_SECONDS), self._resolve, batch)

    def _resolve(self, batch: Sequence[Job[C, Any]]) -> None:
        for job in batch:
            job.resolve()
        self._busy = False
        self._plan()
        if not self._busy:
            self._idle.set()
