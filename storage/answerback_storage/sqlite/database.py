"""The SQLite file as an asynchronous resource: in which thread and transaction each statement runs.

All writes go through one thread with one connection, where calls that arrive together share a durable transaction. All
reads go through a second thread. Neither ever blocks the event loop.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from answerback.core.errors import StoreError
from answerback_storage import rows
from answerback_storage.sqlite.change_batches import Batch
from answerback_storage.sqlite.connections import Connections
from answerback_storage.sqlite.runner import Runner
from answerback_storage.sqlite.writer_thread import JobThread

T = TypeVar("T")

BUSY_TIMEOUT: Final = 2.0
"""Seconds to wait for another process's lock: a chat platform expects its acknowledgement within 3."""
_NOT_OPEN: Final = "The store is not open."


class SqliteDatabase(Runner):
    """A file with one connection that writes and one that reads.

    Args:
        path: the file. It is created if it is missing; its directory is not.
        busy_timeout: seconds to wait for another process's lock.
    """

    def __init__(self, path: str | Path, busy_timeout: float = BUSY_TIMEOUT) -> None:
        self.requests = rows.RequestCache()
        self.batch = Batch(self.requests)
        self.connections = Connections(Path(path).absolute(), busy_timeout, self.batch)
        self._writer: JobThread[sqlite3.Connection] | None = None
        self._reader: JobThread[sqlite3.Connection] | None = None

    async def open(self) -> None:
        """Create the file if necessary, and migrate it.

        Reads nothing else, so the time does not depend on the number of asks.
        """
        await asyncio.to_thread(self.connections.open)
        self._writer = JobThread("sqlite-writer", self.connections.write)
        self._reader = JobThread("sqlite-reader", self.connections.read)

    async def close(self) -> None:
        """Finish the submitted jobs and close the file."""
        for worker in (self._writer, self._reader):
            if worker is not None:
                await worker.stop()
        self._writer = self._reader = None
        await asyncio.to_thread(self.connections.close)

    def write(
        self, run: Callable[[sqlite3.Connection], T], then: Callable[[T], None] | None = None
    ) -> asyncio.Future[T]:
        if self._writer is None:
            raise StoreError(_NOT_OPEN)
        return self._writer.submit(run, then)

    def read(self, run: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        if self._reader is None:
            raise StoreError(_NOT_OPEN)
        return self._reader.submit(run)
