"""The SQLite file as an asynchronous resource, and the asks in it: in which thread and transaction a statement runs.

All writes go through one thread with one connection, where calls that arrive together share a durable transaction. All
reads go through a second thread. Neither ever blocks the event loop.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from answerback.core.ask import Ask, RecordEntry
from answerback.core.errors import StoreError
from answerback.ports.claims import Fence
from answerback.ports.store import Decision, Write
from answerback.ports.store_values import (
    NO_LIMITS,
    AskLimits,
    Created,
    CreateResult,
    Existing,
    FilesGone,
    GrantGone,
    Idempotency,
)
from answerback_storage import rows
from answerback_storage.asks import SqlAsks
from answerback_storage.sql_database import KEYS, SqlDatabase, Transaction
from answerback_storage.sqlite import ask_limits, asks, claim_statements
from answerback_storage.sqlite.change_batches import Batch, ChangeJob
from answerback_storage.sqlite.connections import Connections
from answerback_storage.sqlite.statements import run_statement
from answerback_storage.sqlite.writer_thread import JobRunner, JobThread, StartRunner

T = TypeVar("T")

BUSY_TIMEOUT: Final = 2.0
"""Seconds to wait for another process's lock: a chat platform expects its acknowledgement within 3."""
_NOT_OPEN: Final = "The store is not open."


class SqliteDatabase(SqlDatabase):
    """A file with one connection that writes and one that reads.

    Args:
        path: the file. It is created if it is missing; its directory is not.
        busy_timeout: seconds to wait for another process's lock.
        start_runner: starts what runs the jobs of each connection: a thread, unless the machine is simulated.
    """

    as_bytes = "CAST({} AS BLOB)"
    position = "instr"
    message_id = "json_extract(message, '$.id')"
    ended = "INDEXED BY asks_to_erase WHERE status <> 'open' AND erased_at IS NULL"
    ended_at = "updated_at"
    for_update = ""
    lines = """SELECT seq, at, CAST(entry AS BLOB) FROM record WHERE seq IN (
            WITH RECURSIVE line (seq) AS (
                SELECT last_line FROM asks WHERE id = $1
                UNION ALL SELECT before FROM line JOIN record USING (seq) WHERE before > $2
            ) SELECT seq FROM line WHERE seq > $2
        ) ORDER BY seq LIMIT $3"""

    def __init__(
        self,
        path: str | Path,
        busy_timeout: float = BUSY_TIMEOUT,
        start_runner: StartRunner = JobThread,
    ) -> None:
        self.requests = rows.RequestCache()
        self.unreadable = rows.UnreadableRows()
        self.batch = Batch(self.requests)
        self.connections = Connections(Path(path).absolute(), busy_timeout, self.batch)
        self._start_runner = start_runner
        self._writer: JobRunner[sqlite3.Connection] | None = None
        self._reader: JobRunner[sqlite3.Connection] | None = None

    async def open(self) -> None:
        """Create the file if necessary, and migrate it.

        Reads nothing else, so the time does not depend on the number of asks.
        """
        await asyncio.to_thread(self.connections.open)
        self._writer = self._start_runner("sqlite-writer", self.connections.write)
        self._reader = self._start_runner("sqlite-reader", self.connections.read)

    async def close(self) -> None:
        """Finish the submitted jobs and close the file."""
        for worker in (self._writer, self._reader):
            if worker is not None:
                await worker.stop()
        self._writer = self._reader = None
        await asyncio.to_thread(self.connections.close)

    def write(
        self,
        run: Callable[[sqlite3.Connection], T],
        then: Callable[[T], None] | None = None,
        *,
        within: float = 0.0,
    ) -> asyncio.Future[T]:
        """Run a function in a durable transaction, then call ``then`` with its result, even if the caller has gone."""
        if self._writer is None:
            raise StoreError(_NOT_OPEN)
        return self._writer.submit(run, then, within=within)

    def read(self, run: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """Run a function that only reads. It sees everything that was committed before this call."""
        if self._reader is None:
            raise StoreError(_NOT_OPEN)
        return self._reader.submit(run)

    async def fetch(self, statement: str, *values: object) -> list[rows.Row]:
        return await self.read(lambda db: run_statement(db, statement, values).fetchall())

    async def execute(self, statement: str, *values: object) -> list[rows.Row]:
        return await self.write(lambda db: run_statement(db, statement, values).fetchall())

    def transact(
        self,
        work: Callable[[Transaction], Coroutine[Any, Any, T]],
        *,
        lock: str | None = None,
        within: float = 0.0,
    ) -> asyncio.Future[T]:
        # It needs no lock, because nothing else writes; and as nothing waits, the thread runs it in one go.

        def run(db: sqlite3.Connection) -> T:
            try:
                work(_SqliteTransaction(self, db)).send(None)
            except StopIteration as done:
                result: T = done.value
                return result
            raise AssertionError("a transaction waited for something else")

        return self.write(run, within=within)

    def find(
        self,
        query: str,
        values: Sequence[object],
        limit: int,
        wanted: Callable[[Ask], bool] = lambda _ask: True,
    ) -> asyncio.Future[list[tuple[int, Ask]]]:
        def run(db: sqlite3.Connection) -> list[tuple[int, Ask]]:
            seqs = (seq for (seq,) in run_statement(db, f"SELECT seq FROM asks {query}", values))
            found = asks.load_many(db, self.requests, self.unreadable, seqs)
            return list(islice((each for each in found if wanted(each[1])), limit))

        return self.read(run)

    async def scrub(self) -> None:
        """Remove overwritten data from the file: SQLite overwrites what is deleted, but not all copies of it."""
        await asyncio.to_thread(self.connections.tidy)

    def equals(self, column: str, reference: str) -> str:
        return f"{column} = {reference}"

    def primary_key(self, table: str) -> str:
        return ", ".join(KEYS[table])

    def key(self, table: str, *names: str) -> tuple[str, Sequence[object]]:
        terms = (f"{column} = ${n}" for n, column in enumerate(KEYS[table], 1))
        return " AND ".join(terms), names


class _SqliteTransaction(Transaction):
    """A transaction in the thread that writes. None of its methods waits."""

    def __init__(self, database: SqliteDatabase, db: sqlite3.Connection) -> None:
        self._database = database
        self._db = db

    async def execute(self, statement: str, *values: object) -> list[rows.Row]:
        return run_statement(self._db, statement, values).fetchall()

    async def get(self, ask_id: str) -> Ask | None:
        return asks.load(self._db, self._database.requests, ask_id)

    async def get_readable(self, ask_ids: Collection[str]) -> list[Ask]:
        statement = "SELECT seq FROM asks WHERE id = ?"
        seqs = [self._db.execute(statement, (ask_id,)).fetchone()[0] for ask_id in ask_ids]
        cache, unreadable = self._database.requests, self._database.unreadable
        return [ask for _, ask in asks.load_many(self._db, cache, unreadable, seqs)]

    async def update(self, old: Ask, new: Ask) -> None:
        asks.update(self._db, old, new)
        self._database.batch.forget()

    async def add_lines(self, entries: Iterable[tuple[str | None, RecordEntry]]) -> None:
        asks.add_lines(self._db, entries)

    async def check_fence(self, fence: Fence) -> None:
        claim_statements.check_fence(self._db, fence)


class SqliteAsks(SqlAsks[SqliteDatabase]):
    async def create(
        self, write: Write, idempotency: Idempotency | None, limits: AskLimits = NO_LIMITS
    ) -> CreateResult:
        def run(db: sqlite3.Connection) -> CreateResult:
            # The ask may have been stored in this very transaction, so it must not be cached.
            if idempotency is not None and (
                existing := asks.find_created(db, rows.RequestCache(), idempotency)
            ):
                return existing
            if limits != NO_LIMITS and (reached := ask_limits.find_reached(db, write.ask, limits)):
                return reached
            if write.ask.request.files and not asks.claim_files(db, write.ask):
                return FilesGone()
            if write.grant is not None and not asks.store_grant(db, write.grant):
                return GrantGone()
            if idempotency is not None:
                asks.insert_idempotency_key(db, idempotency, write.ask)
            asks.insert(db, write)
            asks.insert_related(db, write)
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
        within: float = 0.0,
    ) -> tuple[T, bool]:
        # This repeats what `SqlAsks` does, so that a click runs through one file less.
        changing = self._change(ask_id, decide, delivery, digest, then, fence, within)
        if within:  # what is measured is for how long somebody waits
            return await changing
        began = time.perf_counter()
        try:
            return await changing
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
        within: float = 0.0,
    ) -> asyncio.Future[tuple[T, bool]]:
        def notify(outcome: tuple[T, bool]) -> None:
            result, repeated = outcome
            if then is not None and not repeated:
                then(result)

        job = ChangeJob(self._db.batch, ask_id, decide, delivery, digest, fence)
        return self._db.write(job, notify, within=within)

    async def get(self, ask_id: str) -> Ask | None:
        cache = self._db.requests
        return await self._db.read(lambda db: asks.load(db, cache, ask_id, changes=False))
