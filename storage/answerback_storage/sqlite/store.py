"""`SqliteStore`: asks in one SQLite file."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from answerback.core.ask import RecordEntry
from answerback.ports.search import Search, answerer_word
from answerback_storage.maintenance import STEP, SqlMaintenance
from answerback_storage.messages import SqlMessageQueries
from answerback_storage.record import SqlRecord
from answerback_storage.search import SqlSearch
from answerback_storage.sql_database import Transaction, placeholders
from answerback_storage.sql_store import SqlStore
from answerback_storage.sqlite.claim_statements import unclaimed
from answerback_storage.sqlite.claims import (
    RateLimitPauses,
    SqliteClaims,
    SqliteLeases,
    SqliteRemoteChanges,
)
from answerback_storage.sqlite.database import BUSY_TIMEOUT, SqliteAsks, SqliteDatabase
from answerback_storage.sqlite.outbox import SqliteOutbox
from answerback_storage.sqlite.writer_thread import JobThread, StartRunner

_PROBE_BYTES: Final = 256 * 1024
"""Bytes that a check writes: a disk with less space cannot store every ask."""
_OUTDATED: Final = f"""SELECT id FROM (SELECT id, updated_at, row_number() OVER (
        PARTITION BY surface, channel, message IS NULL ORDER BY updated_at
    ) AS turn FROM asks INDEXED BY asks_behind WHERE shown_revision < revision
        AND ($1 IS NULL OR show_holder = $1 OR {unclaimed("show_holder", "show_until", "$2")})
    ) ORDER BY turn, updated_at LIMIT $3"""
_HAS_WORD: Final = (
    "seq IN (SELECT rowid / 2 FROM asks_words WHERE asks_words MATCH {{}} AND rowid >= {first})"
)
_HAS_PREFIX: Final = """seq IN (SELECT id / 2 FROM asks_words_content
    WHERE id >= {first} AND instr(' ' || c0, ' ' || {{}}) > 0)"""
"""The same of a word's beginning, by the indexed texts themselves. Of few asks, that is quicker: from the index, SQLite
reads all asks with such words, and takes a quarter of a second for those of a million asks.
"""
_DELIVERIES_SEEN: Final = "SELECT id, at FROM seen WHERE id > $1 ORDER BY id LIMIT $2"


class SqliteStore(SqlStore):
    """A store in an SQLite file.

    Args:
        path: the file. It is created if it is missing; its directory is not.
        busy_timeout: seconds to wait for another process's lock.
        timed: called with the seconds that a caller waited for a write.
        start_runner: starts what runs the jobs of each connection.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        busy_timeout: float = BUSY_TIMEOUT,
        timed: Callable[[float], None] = lambda _seconds: None,
        start_runner: StartRunner = JobThread,
    ) -> None:
        self.database = db = SqliteDatabase(path, busy_timeout, start_runner)
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
        self.maintenance = SqliteMaintenance(db)
        self._checks = 0

    async def open(self) -> None:
        await self.database.open()

    async def close(self) -> None:
        await self.database.close()

    async def check(self) -> None:
        """Durably write as much as a large ask takes, and read it."""
        self._checks += 1
        # Different text from last time, because SQLite does not write unchanged pages.
        filling = "ab"[self._checks % 2] * _PROBE_BYTES
        statement = "UPDATE health SET checks = checks + 1, filling = $1"
        await self.database.execute(statement, filling)
        await self.database.fetch("SELECT checks, filling FROM health")

    async def counts(self) -> Mapping[str, int]:
        return dict(await self.database.fetch("SELECT name, n FROM counters"))


class SqliteRecord(SqlRecord):
    """The record in an SQLite file. As only one transaction writes at a time, its lines have the order of the commits.

    Batches of changes number their lines themselves (`change_batches`). Each line names the previous line of its ask,
    and each ask its last line. With an index by ask instead, each clicked ask would write one more page, and a click
    would take 5 % more CPU time.
    """

    _changed = """SELECT 0, seq, ask_id FROM record
        WHERE seq > $2 AND ask_id IS NOT NULL ORDER BY seq LIMIT $3"""
    _exists = "SELECT 1 FROM record WHERE $1 = 0 AND seq = $2 AND ask_id IS NOT NULL"

    async def add(self, ask_id: str | None, entry: RecordEntry) -> None:
        await self._db.transact(lambda tx: tx.add_lines([(ask_id, entry)]))


class SqliteMessageQueries(SqlMessageQueries):
    async def list_outdated(self, limit: int, free_for: str | None = None) -> Sequence[str]:
        found = await self._db.fetch(_OUTDATED, free_for, time.monotonic(), limit)
        return [ask_id for (ask_id,) in found]


class SqliteSearch(SqlSearch):
    def _words(self, wanted: Search, first: int) -> Sequence[tuple[str, object]]:
        people = [" OR ".join(map(answerer_word, person)) for person in wanted.by]
        conditions: list[tuple[str, object]] = [(_HAS_WORD, text) for text in people]
        if first:
            conditions += [(_HAS_PREFIX, word) for word in wanted.terms]
        else:
            conditions += [(_HAS_WORD, f'"{word}"*') for word in wanted.terms]
        return [(condition.format(first=2 * first), value) for condition, value in conditions]


class SqliteMaintenance(SqlMaintenance):
    async def prune(self, before: float) -> int:
        return await super().prune(before) + await self._prune_seen(before)

    async def _prune_seen(self, before: float) -> int:
        """Delete old delivery ids. This scans all of them in key order, because no index says which are old."""
        deleted, last = 0, ""
        while found := await self._db.fetch(_DELIVERIES_SEEN, last, STEP):
            if old := [key for key, at in found if at < before]:
                statement = f"DELETE FROM seen WHERE id IN ({placeholders(len(old))}) RETURNING 1"
                deleted += len(await self._db.execute(statement, *old))
            last = found[-1][0]
        return deleted

    async def _is_new_clock_change(self, tx: Transaction, at: float) -> bool:
        statement = "INSERT INTO seen (id, at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1"
        return bool(await tx.execute(statement, f"clock:{at!r}", at))
