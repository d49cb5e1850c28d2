"""A thread with a queue of jobs, which returns the outcome of each job to the event loop.

Knows nothing of SQL: the creator of the thread decides what a batch of jobs runs in.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from answerback.core.errors import StoreError

logger = logging.getLogger(__name__)

C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)
T = TypeVar("T")

MAX_BATCH: Final = 256
"""The most jobs taken off the queue at once. It bounds how long the first of them waits for the last."""
_MAX_COLLECTED: Final = 64
"""The number of collected jobs that are handed to the thread even if the loop keeps adding more."""


class Job(Generic[C, T]):
    """One piece of work on a ``C``, and its outcome: an ``error`` or a result."""

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
        """Run the job, possibly more than once. An error is stored for the caller."""
        self._result = self.error = None
        try:
            self._result = self.run(on)
        except StopIteration as error:  # the one exception that a future does not accept
            self.error = RuntimeError("a job raised StopIteration")
            self.error.__cause__ = error
        except Exception as error:  # noqa: BLE001 it is raised again where the job came from
            self.error = error

    def resolve(self) -> None:
        """On the loop: pass the result to ``then``, and the result or error to the caller, unless it is gone."""
        result: T = self._result  # type: ignore[assignment] # None only when T is None
        if self._then is not None and self.error is None:
            try:
                self._then(result)
            except Exception:  # the work is committed, and other jobs are still to be resolved
                logger.exception("A callback failed after a write", extra={"action": "tell"})
        if self._future.done():  # its caller has stopped waiting
            return
        if self.error is not None:
            self._future.set_exception(self.error)
        else:
            self._future.set_result(result)


class JobRunner(Protocol[C_co]):
    """Runs jobs one after the other, in batches, away from the event loop."""

    def submit(
        self,
        run: Callable[[C_co], T],
        then: Callable[[T], None] | None = None,
        *,
        within: float = 0.0,
    ) -> asyncio.Future[T]:
        """Queue a job, whose future is resolved on the loop; the arguments are those of `JobThread.submit`."""

    async def stop(self) -> None:
        """Return once all submitted jobs are done."""


class StartRunner(Protocol):
    """Starts what runs a connection's jobs; see `JobThread` for the arguments."""

    def __call__(self, name: str, work: Callable[[Sequence[Job[C, Any]]], None]) -> JobRunner[C]:
        """Start one for the connection that ``work`` uses. Its jobs come back to the loop that runs now."""


class JobThread(Generic[C]):
    """A thread that runs jobs in batches: everything that is queued when it gets to them, without waiting for more.

    Args:
        name: the thread's name.
        work: runs a batch. It must leave each job with its result or error, and must not raise.
    """

    def __init__(self, name: str, work: Callable[[Sequence[Job[C, Any]]], None]) -> None:
        self._work = work
        self._queue: queue.SimpleQueue[list[Job[C, Any]] | None] = queue.SimpleQueue()
        self._collected: list[Job[C, Any]] = []
        """Submitted jobs that are not in the queue yet."""
        self._patient: list[Job[C, Any]] = []
        """Submitted jobs that wait for others."""
        self._hurry: asyncio.TimerHandle | None = None
        """Ends their wait."""
        self._overflow: list[Job[C, Any]] = []
        """Jobs taken off the queue that did not fit into the last batch."""
        self._stopping = False
        self._loop = asyncio.get_running_loop()
        # A daemon thread, because an interpreter that exits without `stop` must not wait for it. What was acknowledged
        # is on disk already.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(
        self,
        run: Callable[[C], T],
        then: Callable[[T], None] | None = None,
        *,
        within: float = 0.0,
    ) -> asyncio.Future[T]:
        """Queue a job and return its future. It runs even if its caller stops waiting.

        Args:
            then: called with the result on the loop, whether or not the caller still waits.
            within: how many seconds it may wait for another job, to share a batch with it.

        Raises:
            StoreError: the thread is stopping.
        """
        if self._stopping:
            raise StoreError("The store is closed.")
        future: asyncio.Future[T] = self._loop.create_future()
        job = Job(run, future, then)
        if within:
            self._patient.append(job)
            self._send_within(within)
            return future
        if not self._collected:
            self._loop.call_soon(self._hand_over, 1)
        self._collected.append(job)
        return future

    async def stop(self) -> None:
        """Return once all submitted jobs are done."""
        self._stopping = True
        self._send()
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _send_within(self, seconds: float) -> None:
        at = self._loop.time() + seconds
        if self._hurry is not None:
            if self._hurry.when() <= at:
                return
            self._hurry.cancel()
        self._hurry = self._loop.call_at(at, self._send)

    def _hand_over(self, known: int) -> None:
        # Hand over only once a round of the loop has added no more jobs. A thread woken by the first of many jobs
        # repeatedly takes the interpreter lock from the loop that reads the others. Without this, a click takes 6 %
        # more CPU time (`tests.benchmarks.optimisations`, `job_by_job`). A job that comes alone is not delayed.
        if known < len(self._collected) < _MAX_COLLECTED:
            self._loop.call_soon(self._hand_over, len(self._collected))
        elif self._collected:
            self._send()

    def _send(self) -> None:
        if self._hurry is not None:
            self._hurry.cancel()
            self._collected += self._patient
            self._hurry, self._patient = None, []
        if self._collected:
            self._queue.put(self._collected)
            self._collected = []

    def _run(self) -> None:
        while batch := self._next_batch():
            try:
                self._work(batch)
            except Exception as error:  # noqa: BLE001 a dead thread would make every caller wait forever
                for job in batch:
                    job.error = error
            # The loop is gone if the program ends without `stop`. Then no caller waits any more.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_resolve, batch)
            del batch  # a thread that waits for the next batch must not keep this one alive

    def _next_batch(self) -> list[Job[C, Any]]:
        """Return all queued jobs, without waiting for more; none at the end."""
        batch = self._overflow or self._queue.get() or []
        while 0 < len(batch) < MAX_BATCH and not self._queue.empty():
            more = self._queue.get()
            if more is None:
                self._queue.put(None)  # the end, which comes after this batch
                break
            batch = batch + more
        self._overflow = batch[MAX_BATCH:]
        return batch[:MAX_BATCH]


def _resolve(batch: Sequence[Job[C, Any]]) -> None:
    for job in batch:
        job.resolve()
