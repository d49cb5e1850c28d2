"""The PostgreSQL database as an asynchronous resource, with its connections and the work in progress; and its asks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from answerback.core.ask import Ask, RecordEntry
from answerback.core.errors import LeaseLostError, StoreError
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
    LimitReached,
)
from answerback_postgres import ask_writes, asks
from answerback_postgres.change_batches import ChangeJob, ChangeQueue
from answerback_postgres.connections import (
    MAX_ATTEMPTS,
    Connection,
    Database,
    is_repeatable,
)
from answerback_postgres.listen_notify import ChangeNotifier
from answerback_postgres.sql import Parameters, index_expression
from answerback_storage import rows
from answerback_storage.asks import SqlAsks
from answerback_storage.sql_database import SqlDatabase, Transaction

T = TypeVar("T")

_NOT_OPEN: Final = "The store is not open."
_HELD: Final = """SELECT 1 FROM leases WHERE name = $1 AND epoch = $2 AND until > clock_timestamp()
    FOR NO KEY UPDATE"""


class PostgresDatabase(SqlDatabase):
    """The connections that the parts of the store run their statements on.

    Args:
        url: the database, in libpq's format.
        pooled: whether a pooler is in between.
    """

    as_bytes = "convert_to({}, 'UTF8')"
    position = "strpos"
    message_id = "message_id"
    ended = "WHERE settled_at IS NOT NULL AND erased_at IS NULL"
    ended_at = "settled_at"
    for_update = "FOR UPDATE"
    lines = """SELECT seq, at, convert_to(entry, 'UTF8') FROM record
        WHERE ask_id = $1 AND seq > $2 ORDER BY seq LIMIT $3"""

    def __init__(self, url: str, *, pooled: bool) -> None:
        self.connections = Database(url, pooled=pooled)
        self.requests = rows.RequestCache()
        self.unreadable = rows.UnreadableRows()
        self.is_open = False
        self._running: set[asyncio.Future[Any]] = set()

    async def finish(self) -> None:
        """Accept no more work, and return once the submitted work is done."""
        self.is_open = False
        while self._running:
            await asyncio.wait(self._running)

    def check_open(self) -> None:
        """Raise StoreError unless the store is open."""
        if not self.is_open:
            raise StoreError(_NOT_OPEN)

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run ``work`` to completion, even if the caller stops waiting."""
        self.check_open()
        task = asyncio.ensure_future(work())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def fetch(self, statement: str, *values: object) -> list[rows.Row]:
        return await self.run(lambda: self.connections.read(statement, values))

    async def execute(self, statement: str, *values: object) -> list[rows.Row]:
        return await self.run(lambda: self.connections.write(statement, values))

    async def transact(
        self,
        work: Callable[[Transaction], Coroutine[Any, Any, T]],
        *,
        lock: str | None = None,
        within: float = 0.0,
    ) -> T:
        async def attempt() -> T:
            async with self.connections.transaction() as connection:
                transaction = _PostgresTransaction(self, connection)
                if lock is not None:
                    await transaction.execute(f"LOCK TABLE {lock} IN EXCLUSIVE MODE")
                return await work(transaction)

        async def run() -> T:
            for _ in range(1, MAX_ATTEMPTS):
                try:
                    return await attempt()
                except StoreError as error:
                    if not is_repeatable(error.__cause__):
                        raise
            return await attempt()

        return await self.run(run)

    async def find(
        self,
        query: str,
        values: Sequence[object],
        limit: int,
        wanted: Callable[[Ask], bool] = lambda _ask: True,
    ) -> list[tuple[int, Ask]]:
        size = limit
        while True:  # reads more rows only if too many of the first ones are not wanted
            statement = f"SELECT seq, {asks.LOAD_COLUMNS} FROM asks {query} LIMIT {size}"
            read = await self.fetch(statement, *values)
            seqs = {row[2]: row[0] for row in read}
            found = [ask for ask in self.parse([row[1:] for row in read]) if wanted(ask)][:limit]
            if len(read) < size or len(found) == limit:
                return [(seqs[ask.id], ask) for ask in found]
            size *= 4

    def parse(self, found: Iterable[rows.Row]) -> list[Ask]:
        """Return the asks of rows of `asks.LOAD_COLUMNS`, without those that cannot be read."""
        by_id = ((row[1], row) for row in found)
        read = self.unreadable.skip(
            "asks", by_id, partial(asks.parse_row, self.requests, changes=False)
        )
        return [versioned.ask for versioned in read]

    async def scrub(self) -> None:
        """Do nothing: overwritten data leaves the files with the next VACUUM, which the server runs."""

    def equals(self, column: str, reference: str) -> str:
        whole = f"{column} = {reference}"
        if column in {"status", "state"}:
            return whole
        return f"{index_expression(column)} = {index_expression(reference)} AND {whole}"

    def primary_key(self, table: str) -> str:
        return "hash"

    def key(self, table: str, *names: str) -> tuple[str, Sequence[object]]:
        return "hash = $1", (asks.unique_hash(*names),)


class _PostgresTransaction(Transaction):
    def __init__(self, database: PostgresDatabase, connection: Connection) -> None:
        self._database = database
        self._connection = connection

    async def execute(self, statement: str, *values: object) -> list[rows.Row]:
        return await self._database.connections.run(self._connection, statement, values)

    async def get(self, ask_id: str) -> Ask | None:
        statement = asks.load_statement("WHERE id = $1 FOR UPDATE OF asks")
        found = await self.execute(statement, ask_id)
        return asks.parse_row(self._database.requests, found[0]).ask if found else None

    async def get_readable(self, ask_ids: Collection[str]) -> list[Ask]:
        statement = asks.load_statement("WHERE id = ANY($1)")
        found = self._database.parse(await self.execute(statement, [*ask_ids]))
        by_id = {ask.id: ask for ask in found}
        return [by_id[ask_id] for ask_id in ask_ids if ask_id in by_id]

    async def update(self, old: Ask, new: Ask) -> None:
        params = Parameters()
        values = params.row(asks.ask_columns(new), asks.WRITE_COLUMN_TYPES)
        await self.execute(
            f"""UPDATE asks SET (version, {asks.WRITE_COLUMNS}) = ROW (version + 1, {values})
                WHERE id = {params.add(old.id)}""",
            *params.values,
        )

    async def add_lines(self, entries: Iterable[tuple[str | None, RecordEntry]]) -> None:
        params = Parameters()
        lines = [row for ask_id, entry in entries for row in rows.entry_rows(ask_id, [entry])]
        await self.execute(asks.insert_lines(params, lines), *params.values)

    async def check_fence(self, fence: Fence) -> None:
        if not await self.execute(_HELD, *fence):
            raise LeaseLostError(fence.lease)


class PostgresAsks(SqlAsks[PostgresDatabase]):
    def __init__(
        self, db: PostgresDatabase, timed: Callable[[float], None], notifier: ChangeNotifier
    ) -> None:
        super().__init__(db, timed)
        self._notifier = notifier
        self.changes = ChangeQueue(db.connections, db.requests, notifier.notify)

    async def create(
        self, write: Write, idempotency: Idempotency | None, limits: AskLimits = NO_LIMITS
    ) -> CreateResult:
        async def run() -> CreateResult:
            statement, params = ask_writes.build_insert(write, idempotency, limits)
            while True:
                [(stored, limit, wait)] = await self._db.connections.write(statement, params.values)
                if stored is not None:
                    self._notifier.notify([write.ask.id])
                    return Created(write.ask)
                # The first one is found, unless its key is being pruned at this very moment.
                if idempotency and (existing := await self._existing(idempotency)):
                    return existing
                if limit is not None:
                    return LimitReached(limit, wait)
                if write.ask.request.files:
                    return FilesGone()
                if write.grant is not None:
                    return GrantGone()

        began = time.perf_counter()
        try:
            return await self._db.run(run)
        finally:
            self._timed(time.perf_counter() - began)

    async def find_created(self, idempotency: Idempotency) -> Existing | None:
        return await self._db.run(lambda: self._existing(idempotency))

    async def _existing(self, idempotency: Idempotency) -> Existing | None:
        condition, key = self._db.key("idempotency", idempotency.agent, idempotency.key)
        statement = f"SELECT ask_id, digest FROM idempotency WHERE {condition}"
        found = await self._db.connections.read(statement, key)
        if not found:
            return None
        ask_id, digest = found[0]
        ask = await asks.load(self._db.connections, self._db.requests, ask_id)
        return None if ask is None else Existing(ask, digest == idempotency.digest)

    def _change(
        self,
        ask_id: str,
        decide: Callable[[Ask | None], Decision[T]],
        delivery: str | None = None,
        digest: str = "",
        then: Callable[[T], None] | None = None,
        fence: Fence | None = None,
        within: float = 0.0,
    ) -> Awaitable[tuple[T, bool]]:
        """If another process changed the ask in the meantime, start again. Writes share no commits, so none waits."""
        self._db.check_open()
        return self.changes.submit(ChangeJob(ask_id, decide, delivery, digest, then, fence))

    async def get(self, ask_id: str) -> Ask | None:
        connections, cache = self._db.connections, self._db.requests
        return await self._db.run(lambda: asks.load(connections, cache, ask_id))
