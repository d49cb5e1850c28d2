"""The SQLite file as an asynchronous resource, and the asks in it: in which thread and transaction a statement runs.

All writes go through one thread with one connection, where calls that arrive together share a durable transaction. All
reads go through a second thread. Neither ever blocks the event loop.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from asyncio import Future
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.ports.claims import Fence
from answerback.ports.store import Decision, Write
from answerback.ports.store_values import (
    NO_LIMITS,
    AskLimits,
    Created,
    Existing,
    GrantGone,
    Idempotency,
    LimitReached,
    Page,
)
from answerback_storage import rows
from answerback_storage.base_store import BaseAsks, Filters
from answerback_storage.sqlite import ask_limits, asks, grants
from answerback_storage.sqlite.change_batches import Batch, ChangeJob, insert_related
from answerback_storage.sqlite.connections import Connections
from answerback_storage.sqlite.runner import Runner
from answerback_storage.sqlite.writer_thread import JobThread

T = TypeVar("T")

BUSY_TIMEOUT: Final = 2.0
"""Seconds to wait for another process's lock: a chat platform expects its acknowledgement within 3."""
_NOT_OPEN: Final = "The store is not open."
_REMEMBERED: Final = """SELECT CAST(value AS BLOB) FROM remembered
    WHERE agent = ? AND conversation = ? AND turn = ? AND tool = ? AND question_id = ?"""


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


class SqliteAsks(BaseAsks[SqliteDatabase]):
    """Asks in an SQLite file."""

    async def create(
        self, write: Write, idempotency: Idempotency | None, limits: AskLimits = NO_LIMITS
    ) -> Created | Existing | LimitReached | GrantGone:
        def run(db: sqlite3.Connection) -> Created | Existing | LimitReached | GrantGone:
            # The ask may have been stored in this very transaction, so it must not be cached.
            if idempotency is not None and (
                existing := asks.find_created(db, rows.RequestCache(), idempotency)
            ):
                return existing
            if limits != NO_LIMITS and (reached := ask_limits.find_reached(db, write.ask, limits)):
                return reached
            if write.grant is not None and not grants.store(db, write.grant):
                return GrantGone()
            if idempotency is not None:
                asks.insert_idempotency_key(db, idempotency, write.ask)
            asks.insert(db, write.ask, write.claim)
            insert_related(db, write)
            return Created(write.ask)

        began = time.perf_counter()
        try:
            return await self._db.write(run)
        finally:
            self._timed(time.perf_counter() - began)

    async def find_created(self, idempotency: Idempotency) -> Existing | None:
        return await self._db.read(lambda db: asks.find_created(db, self._db.requests, idempotency))

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
        """See `AskStore.change`. What `BaseAsks` has is repeated here, so that a click's path is short."""
        began = time.perf_counter()
        try:
            return await self._change(ask_id, decide, delivery, digest, then, fence)
        finally:
            self._timed(time.perf_counter() - began)

    def _change(
        self,
        ask_id: str,
        decide: Callable[[Ask | None], Decision[T]],
        delivery: str | None = None,
        digest: str = "",
        then: Callable[[T], None] | None = None,
        fence: Fence | None = None,
    ) -> Future[tuple[T, bool]]:
        def notify(outcome: tuple[T, bool]) -> None:
            result, repeated = outcome
            if then is not None and not repeated:
                then(result)

        job = ChangeJob(self._db.batch, ask_id, decide, delivery, digest, fence)
        return self._db.write(job, notify)

    async def get(self, ask_id: str) -> Ask | None:
        return await self._db.read(lambda db: asks.load(db, self._db.requests, ask_id))

    async def _page(self, filters: Filters, behind: int, limit: int) -> Page[Ask]:
        def run(db: sqlite3.Connection) -> Page[Ask]:
            seqs, cursor = asks.newest_first(db, "asks", filters, (behind, limit))
            return Page(tuple(asks.load_many(db, self._db.requests, seqs)), cursor)

        return await self._db.read(run)

    async def get_remembered(
        self, agent: str, conversation: str, turn: str, tool: str, question: str
    ) -> tuple[JsonValue] | None:
        key = (agent, conversation, turn, tool, question)
        found = await self._db.read(lambda db: db.execute(_REMEMBERED, key).fetchone())
        return None if found is None else rows.read_value(found[0], "remembered")
