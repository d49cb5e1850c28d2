"""A thread with a queue of jobs, and how the outcome of each gets back to the event loop.

Knows nothing of SQL: what a batch of jobs is run in is decided by whoever makes the worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from answerback.core.errors import StoreError

logger = logging.getLogger(__name__)

C = TypeVar("C")
T = TypeVar("T")

MAX_BATCH: Final = 256
"""Jobs that are taken off the queue at once; it bounds how long the first of them waits for the last."""
_MOST_GATHERED: Final = 64
"""Jobs that are handed to the thread even if the loop goes on bringing more."""


class Job(Generic[C, T]):
    """One piece of work on a ``C``, and what came of it: ``error``, or else the result."""

    __slots__ = ("_future", "_result", "_then", "error", "run")

    def __init__(
        self,
        run: Callable[[C], T],
        future: asyncio.Future[T],
        then: Callable[[T], None] | None = None,
    ) -> None:
        self.run = run
        self._future = future
        self._then = then
        self._result: T | None = None
        self.error: Exception | None = None

    def execute(self, on: C) -> None:
        """Runs it, once more if need be; an error is kept for the caller."""
        self._result = self.error = None
        try:
            self._result = self.run(on)
        except StopIteration as error:  # the one exception that no future takes
            self.error = RuntimeError("a job raised StopIteration")
            self.error.__cause__ = error
        except Exception as error:  # noqa: BLE001 it is raised again where the job came from
            self.error = error

    def resolve(self) -> None:
        """On the loop: tells whoever is to be told of the result, and the caller, unless it has left."""
        result: T = self._result  # type: ignore[assignment] # None only when T is None
        if self._then is not None and self.error is None:
            try:
                self._then(result)
            except Exception:  # what is done is done, and the others of the batch wait to be told
                logger.exception("A result was not told on", extra={"action": "tell"})
        if self._future.done():
            return
        if self.error is not None:
            self._future.set_exception(self.error)
        else:
            self._future.set_result(result)


class JobThread(Generic[C]):
    """A thread that runs jobs in batches: all that are queued when it gets to them, without lingering.

    Args:
        name: the thread's name.
        work: runs a batch; it must leave each job with its result or error, and not raise.
    """

    def __init__(self, name: str, work: Callable[[Sequence[Job[C, Any]]], None]) -> None:
        self._work = work
        self._queue: queue.SimpleQueue[list[Job[C, Any]] | None] = queue.SimpleQueue()
        self._gathered: list[Job[C, Any]] = []
        """What was handed in and is not in the queue yet."""
        self._left: list[Job[C, Any]] = []
        """What is taken off the queue and too much for one batch."""
        self._stopping = False
        self._loop = asyncio.get_running_loop()
        # A daemon: an interpreter that ends without `stop` must not wait for us; what was
        # acknowledged is on disk already.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(
        self, run: Callable[[C], T], then: Callable[[T], None] | None = None
    ) -> asyncio.Future[T]:
        """What a job will come to. It is run even if whoever waits for it leaves.

        Args:
            then: is told the result on the loop, whether or not anybody still waits.

        Raises:
            StoreError: the worker was told to stop.
        """
        if self._stopping:
            raise StoreError("The store is closed.")
        future: asyncio.Future[T] = self._loop.create_future()
        if not self._gathered:
            self._loop.call_soon(self._hand_over, 1)
        self._gathered.append(Job(run, future, then))
        return future

    async def stop(self) -> None:
        """Returns once everything that was handed in is done."""
        self._stopping = True
        self._hand_over(len(self._gathered))
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _hand_over(self, known: int) -> None:
        # Once a round of the loop has brought no more: a thread that is woken by the first of many jobs wrests the
        # interpreter from the loop that reads the others, again and again. Without this a click takes 6 % more of the
        # processor (`tests.benchmarks.clever`, `job_by_job`). A job that comes alone waits for nobody.
        if known < len(self._gathered) < _MOST_GATHERED:
            self._loop.call_soon(self._hand_over, len(self._gathered))
        elif self._gathered:
            self._queue.put(self._gathered)
            self._gathered = []

    def _run(self) -> None:
        while batch := self._next_batch():
            try:
                self._work(batch)
            except Exception as error:  # noqa: BLE001 a dead thread would let everybody wait for ever
                for job in batch:
                    job.error = error
            # The loop is gone when the program ends without `stop`: nobody waits any more.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_resolve, batch)
            del batch  # a thread that waits for the next holds nothing of it

    def _next_batch(self) -> list[Job[C, Any]]:
        """All that is queued, without lingering; none at the end."""
        batch = self._left or self._queue.get() or []
        while 0 < len(batch) < MAX_BATCH and not self._queue.empty():
            more = self._queue.get()
            if more is None:
                self._queue.put(None)
                break
            batch = batch + more
        self._left = batch[MAX_BATCH:]
        return batch[:MAX_BATCH]


def _resolve(batch: Sequence[Job[C, Any]]) -> None:
    for job in batch:
        job.resolve()
