"""`SqliteStore`: asks in one SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from answerback.core.ask import RecordEntry
from answerback_storage.rate_limit_pauses import RateLimitPauses
from answerback_storage.record import SqlRecord
from answerback_storage.sql_store import SqlDrafts, SqlStore
from answerback_storage.sqlite.claims import SqliteClaims, SqliteLeases, SqliteRemoteChanges
from answerback_storage.sqlite.database import BUSY_TIMEOUT, SqliteAsks, SqliteDatabase
from answerback_storage.sqlite.maintenance import SqliteMaintenance
from answerback_storage.sqlite.messages import SqliteMessageQueries
from answerback_storage.sqlite.outbox import SqliteOutbox
from answerback_storage.sqlite.search import SqliteSearch

_PROBE_BYTES: Final = 256 * 1024
"""Bytes that a check writes: a disk with less space cannot store every ask."""


class SqliteStore(SqlStore):
    """A store in an SQLite file.

    Args:
        path: the file. It is created if it is missing; its directory is not.
        busy_timeout: seconds to wait for another process's lock.
        timed: called with the seconds that a caller waited for a write.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        busy_timeout: float = BUSY_TIMEOUT,
        timed: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        self.database = db = SqliteDatabase(path, busy_timeout)
        self.changes = SqliteRemoteChanges(db)
        super().__init__(db, self.changes)
        self.asks = SqliteAsks(db, timed)
        self.messages = SqliteMessageQueries(db)
        self.search = SqliteSearch(db)
        self.record = SqliteRecord(db)
        self.outbox = SqliteOutbox(db)
        self.claims = SqliteClaims(db)
        self.leases = SqliteLeases(db)
        self.rate_limits = RateLimitPauses()
        self.drafts = SqliteDrafts(db)
        self.maintenance = SqliteMaintenance(db)
        self._checks = 0

    async def open(self) -> None:
        await self.database.open()

    async def close(self) -> None:
        await self.database.close()

    async def check(self) -> None:
        """Durably write as much as a large ask takes, read it, and verify that the file is still in place."""
        self._checks += 1
        # Different text from last time, because SQLite does not write unchanged pages.
        filling = "ab"[self._checks % 2] * _PROBE_BYTES

        def write(db: sqlite3.Connection) -> None:
            self.database.connections.check_in_place()
            db.execute("UPDATE health SET checks = checks + 1, filling = ?", (filling,))

        await self.database.write(write)
        await self.database.fetch("SELECT checks, filling FROM health")

    async def counts(self) -> Mapping[str, int]:
        return dict(await self.database.fetch("SELECT name, n FROM counters"))

    async def oldest_open(self) -> Mapping[str, float]:
        statement = """SELECT coalesce(request ->> 'route', ''),
                min(created_at - coalesce(state ->> 'set_back', 0.0))
            FROM asks JOIN requests USING (seq)
            WHERE status = 'open' AND json_valid(request) AND json_valid(state) GROUP BY 1"""
        return dict(await self.database.fetch(statement))


class SqliteRecord(SqlRecord):
    """The record in an SQLite file. As only one transaction writes at a time, its lines have the order of the commits.

    Batches of changes number their lines themselves (`change_batches`). Each line names the previous line of its ask,
    and each ask its last line. With an index by ask instead, each clicked ask would write one more page, and a click
    would take 5 % more CPU time.
    """

    _changed = """SELECT 0, seq, ask_id FROM record
        WHERE seq > $2 AND ask_id IS NOT NULL ORDER BY seq LIMIT $3"""
    _exists = "SELECT 1 FROM record WHERE seq = $2 AND ask_id IS NOT NULL"

    async def add(self, ask_id: str | None, entry: RecordEntry) -> None:
        await self._db.transact(lambda tx: tx.add_lines([(ask_id, entry)]))


class SqliteDrafts(SqlDrafts):
    """Drafts in an SQLite file."""

    _insert = """INSERT INTO drafts (key, value, at) VALUES ($1, $2, $3)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value, at = excluded.at"""
