"""The SQLite file as an asynchronous resource: in which thread and transaction each statement runs.

All writes go through one thread with one connection, where calls that arrive together share a durable transaction. All
reads go through a second thread. Neither ever blocks the event loop.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.ports.claims import Fence
from answerback.ports.store import Decision
from answerback_storage import rows
from answerback_storage.sqlite.change_batches import Batch, ChangeJob
from answerback_storage.sqlite.connections import Connections
from answerback_storage.sqlite.writer_thread import JobThread

T = TypeVar("T")

_BUSY_TIMEOUT: Final = 2.0
"""Seconds to wait for another process's lock: a chat platform expects its acknowledgement within 3."""
_PROBE_BYTES: Final = 256 * 1024
"""Bytes that a check writes: a disk with less space cannot store every ask."""
_NOT_OPEN: Final = "The store is not open."


class SqliteDatabase:
    """A file with one connection that writes and one that reads.

    Args:
        path: the file. It is created if it is missing; its directory is not.
        busy_timeout: seconds to wait for another process's lock.
        timed: called with the seconds that a caller waited for a write.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        busy_timeout: float = _BUSY_TIMEOUT,
        timed: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        super().__init__()
        self._timed = timed
        self._checks = 0
        self._requests = rows.RequestCache()
        self._batch = Batch(self._requests)
        self._connections = Connections(Path(path).absolute(), busy_timeout, self._batch)
        self._writer: JobThread[sqlite3.Connection] | None = None
        self._reader: JobThread[sqlite3.Connection] | None = None

    async def open(self) -> None:
        """Create the file if necessary, and migrate it.

        Reads nothing else, so the time does not depend on the number of asks.
        """
        await asyncio.to_thread(self._connections.open)
        self._writer = JobThread("sqlite-writer", self._connections.write)
        self._reader = JobThread("sqlite-reader", self._connections.read)

    async def close(self) -> None:
        """Finish the submitted jobs and close the file."""
        for worker in (self._writer, self._reader):
            if worker is not None:
                await worker.stop()
        self._writer = self._reader = None
        await asyncio.to_thread(self._connections.close)

    def _write(
        self, run: Callable[[sqlite3.Connection], T], then: Callable[[T], None] | None = None
    ) -> asyncio.Future[T]:
        if self._writer is None:
            raise StoreError(_NOT_OPEN)
        return self._writer.submit(run, then)

    def _read(self, run: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        if self._reader is None:
            raise StoreError(_NOT_OPEN)
        return self._reader.submit(run)

    async def scrub_erased(self) -> None:
        """Remove erased data from the file and its log; see `answerback.ports.store.Store.scrub_erased`."""
        await asyncio.to_thread(self._connections.tidy)

    async def change(
        self,
        ask_id: str,
        decide: Callable[[Ask | None], Decision[T]],
        *,
        delivery: str | None = None,
        digest: str = "",
        then: Callable[[T], None] | None = None,
        fence: Fence | None = None,
    ) -> tuple[T, bool]:
        """Load an ask, decide and store in one transaction that no other can interleave."""

        def notify(outcome: tuple[T, bool]) -> None:
            result, repeated = outcome
            if then is not None and not repeated:
                then(result)

        began = time.perf_counter()
        try:
            return await self._write(
                ChangeJob(self._batch, ask_id, decide, delivery, digest, fence), notify
            )
        finally:
            self._timed(time.perf_counter() - began)

    async def check(self) -> None:
        """Durably write as much as a large ask takes, read it, and verify that the file is still in place."""
        self._checks += 1
        # Different text from last time, because SQLite does not write unchanged pages.
        filling = "ab"[self._checks % 2] * _PROBE_BYTES

        def write(db: sqlite3.Connection) -> None:
            self._connections.check_in_place()
            db.execute("UPDATE health SET checks = checks + 1, filling = ?", (filling,))

        await self._write(write)
        await self._read(lambda db: db.execute("SELECT checks, filling FROM health").fetchone())
