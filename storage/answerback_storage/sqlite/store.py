"""`SqliteStore`: asks in one SQLite file."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from answerback.ports.store import Store
from answerback_storage import rows
from answerback_storage.base_store import BaseDrafts
from answerback_storage.rate_limit_pauses import RateLimitPauses
from answerback_storage.sqlite.claims import SqliteClaims, SqliteLeases, SqliteRemoteChanges
from answerback_storage.sqlite.database import BUSY_TIMEOUT, SqliteAsks, SqliteDatabase
from answerback_storage.sqlite.erasure import SqliteErasure
from answerback_storage.sqlite.grants import SqliteGrants
from answerback_storage.sqlite.late_answers import SqliteLateAnswers
from answerback_storage.sqlite.links import SqliteAccountLinks
from answerback_storage.sqlite.maintenance import SqliteMaintenance
from answerback_storage.sqlite.messages import SqliteMessageQueries
from answerback_storage.sqlite.outbox import SqliteOutbox
from answerback_storage.sqlite.people import SqliteAgentTokens, SqlitePushSubscriptions
from answerback_storage.sqlite.receipts import SqliteReceipts
from answerback_storage.sqlite.record_lines import SqliteRecord
from answerback_storage.sqlite.runner import Runner
from answerback_storage.sqlite.search import SqliteSearch

_PROBE_BYTES: Final = 256 * 1024
"""Bytes that a check writes: a disk with less space cannot store every ask."""


class SqliteStore(Store):
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
        self.asks = SqliteAsks(db, timed)
        self.messages = SqliteMessageQueries(db)
        self.search = SqliteSearch(db)
        self.record = SqliteRecord(db)
        self.receipts = SqliteReceipts(db)
        self.grants = SqliteGrants(db)
        self.late_answers = SqliteLateAnswers(db)
        self.outbox = SqliteOutbox(db)
        self.claims = SqliteClaims(db)
        self.leases = SqliteLeases(db)
        self.rate_limits = RateLimitPauses()
        self.changes = SqliteRemoteChanges(db)
        self.drafts = SqliteDrafts(db)
        self.push = SqlitePushSubscriptions(db)
        self.agent_tokens = SqliteAgentTokens(db)
        self.links = SqliteAccountLinks(db)
        self.erasure = SqliteErasure(db)
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
        await self.database.read(
            lambda db: db.execute("SELECT checks, filling FROM health").fetchone()
        )

    async def secret(self, name: str) -> bytes:
        def run(db: sqlite3.Connection) -> bytes:
            new = (name, secrets.token_bytes(32))
            db.execute("INSERT OR IGNORE INTO secrets (name, value) VALUES (?, ?)", new)
            value: bytes
            (value,) = db.execute("SELECT value FROM secrets WHERE name = ?", (name,)).fetchone()
            return value

        return await self.database.write(run)

    async def counts(self) -> Mapping[str, int]:
        statement = "SELECT name, n FROM counters"
        return dict(await self.database.read(lambda db: db.execute(statement).fetchall()))

    async def oldest_open(self) -> Mapping[str, float]:
        statement = """SELECT coalesce(request ->> 'route', ''),
                min(created_at - coalesce(state ->> 'set_back', 0.0))
            FROM asks JOIN requests USING (seq)
            WHERE status = 'open' AND json_valid(request) AND json_valid(state) GROUP BY 1"""
        return dict(await self.database.read(lambda db: db.execute(statement).fetchall()))


class SqliteDrafts(BaseDrafts[Runner]):
    """Drafts in an SQLite file."""

    async def _read(self, key: str) -> bytes | None:
        statement = "SELECT CAST(value AS BLOB) FROM drafts WHERE key = ?"
        found = await self._db.read(lambda db: db.execute(statement, (key,)).fetchone())
        return None if found is None else found[0]

    async def save(self, key: str, value: JsonValue, at: float) -> None:
        values: tuple[str | float, ...] = (key,)
        statement = "DELETE FROM drafts WHERE key = ?"
        if value is not None:
            statement = "INSERT OR REPLACE INTO drafts (key, value, at) VALUES (?, ?, ?)"
            values += (rows.dump(value), at)
        await self._db.write(lambda db: db.execute(statement, values).rowcount)
