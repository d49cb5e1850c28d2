"""The SQLite file as an asynchronous resource: which thread and transaction each statement runs in.

Everything that writes goes through one thread with one connection, where calls that arrive
together share a durable transaction; everything that reads has a thread of its own, and neither
ever blocks the event loop.
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
"""Seconds to wait for another process's lock: a chat platform wants its acknowledgement within 3."""
_PROBE: Final = 256 * 1024
"""Bytes that a check writes: a disk with room for less cannot take every ask."""
_NOT_OPEN: Final = "The store is not open."


class SqliteDatabase:
    """A file with one connection that writes and one that reads.

    Args:
        path: the file; it is made when it is missing, its directory is not.
        busy_timeout: seconds to wait for another process's lock.
        timed: is told how many seconds a write took which somebody waited for.
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
        """Makes the file if need be, and migrates it. Reads nothing else: the number of asks makes no difference."""
        await asyncio.to_thread(self._connections.open)
        self._writer = JobThread("sqlite-writer", self._connections.write)
        self._reader = JobThread("sqlite-reader", self._connections.read)

    async def close(self) -> None:
        """Finishes what was handed in and closes the file."""
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
        """Has nothing in the file and its log of what was erased; see `answerback.ports.store.Store.scrub_erased`."""
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
        """Loads an ask, decides and stores, in one transaction that nobody else's can interleave."""

        def done(told: tuple[T, bool]) -> None:
            result, repeated = told
            if then is not None and not repeated:
                then(result)

        began = time.perf_counter()
        try:
            return await self._write(
                ChangeJob(self._batch, ask_id, decide, delivery, digest, fence), done
            )
        finally:
            self._timed(time.perf_counter() - began)

    async def check(self) -> None:
        """Writes as much as a large ask takes, durably, and reads it; finds the file where it was opened."""
        self._checks += 1
        # Other text than last time: SQLite does not write pages that stay as they are.
        filling = "ab"[self._checks % 2] * _PROBE

        def write(db: sqlite3.Connection) -> None:
            self._connections.check_in_place()
            db.execute("UPDATE health SET checks = checks + 1, filling = ?", (filling,))

        await self._write(write)
        await self._read(lambda db: db.execute("SELECT checks, filling FROM health").fetchone())
