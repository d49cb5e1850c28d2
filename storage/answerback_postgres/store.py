"""`PostgresStore`: asks in a PostgreSQL database that any number of processes share.

Every write is a single statement, and so a single transaction. The exceptions are erasure, late answers, the chain of
receipts, tokens of agents, clock changes and migrations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from answerback.core.ask import RecordEntry, Status
from answerback.core.errors import StoreError
from answerback.ports.store_values import ChangedAsks, DeliveryState
from answerback_postgres import asks
from answerback_postgres.claims import (
    PostgresClaims,
    PostgresLeases,
    PostgresRateLimits,
    PostgresRemoteChanges,
)
from answerback_postgres.database import PostgresAsks, PostgresDatabase
from answerback_postgres.listen_notify import ChangeNotifier
from answerback_postgres.migrations import migrate
from answerback_postgres.outbox import PostgresOutbox
from answerback_postgres.search import PostgresSearch
from answerback_postgres.sql import Parameters, unclaimed
from answerback_storage import rows
from answerback_storage.maintenance import SqlMaintenance
from answerback_storage.messages import SqlMessageQueries
from answerback_storage.record import SqlRecord
from answerback_storage.sql_database import Transaction
from answerback_storage.sql_store import SqlStore

_OUTDATED: Final = f"""SELECT id FROM (SELECT id, updated_at, row_number() OVER (
        PARTITION BY surface, channel, message IS NULL ORDER BY updated_at
    ) AS turn FROM behind JOIN asks USING (seq)
        WHERE ($2::text IS NULL OR show_holder = $2 OR {unclaimed("show_holder", "show_until")})
    ) AS behind ORDER BY turn, updated_at LIMIT $1"""
RENUMBERED_AT_ONCE: Final = 1_000
"""Lines that one statement renumbers, in a small part of the time that it may take."""
_RENUMBER: Final = """WITH step AS (
        SELECT tx, seq FROM record WHERE (tx, seq) > ($1, $2)
        AND tx >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint AND ask_id IS NOT NULL
        ORDER BY tx, seq LIMIT {limit}
    ), renumbered AS (
        UPDATE record SET tx = pg_current_xact_id()::text::bigint
        FROM step WHERE record.seq = step.seq AND record.tx = step.tx
    ) SELECT tx, seq FROM step ORDER BY tx DESC, seq DESC LIMIT 1"""
"""Gives the next lines of transactions that are still to come its own number, and returns where the last one was.

A line that another process has renumbered while this one waited for it keeps that number: cursors name it.
"""
_SAME_CLOCK_CHANGE: Final = 600.0
"""Seconds within which every process has noticed that the database's clock was set back; only the first records it."""
_NOTE_CLOCK_CHANGE: Final = """INSERT INTO seen AS noticed VALUES ('clock', $1) ON CONFLICT (id)
    DO UPDATE SET at = excluded.at WHERE abs(noticed.at - excluded.at) > $2 RETURNING 1"""


class PostgresStore(SqlStore):
    """A store in a PostgreSQL database.

    Args:
        url: the database, in libpq's format. It must exist; its tables need not.
        listen_url: the server itself, if ``url`` is a pooler that reassigns connections between transactions.
        timed: called with the seconds that a caller waited for a write.
    """

    def __init__(
        self,
        url: str,
        *,
        listen_url: str | None = None,
        timed: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        self.database = db = PostgresDatabase(url, pooled=listen_url is not None)
        self.notifier = ChangeNotifier(db.connections, listen_url or url)
        self.changes = PostgresRemoteChanges(db, self.notifier)
        super().__init__(db, self.changes)
        self.asks = PostgresAsks(db, timed, self.notifier)
        self.messages = PostgresMessageQueries(db)
        self.search = PostgresSearch(db)
        self.record = PostgresRecord(db)
        self.outbox = PostgresOutbox(db)
        self.claims = PostgresClaims(db)
        self.leases = PostgresLeases(db)
        self.rate_limits = PostgresRateLimits(db)
        self.maintenance = PostgresMaintenance(db)

    async def open(self) -> None:
        """Connect and migrate. Reads nothing else, so the time does not depend on the number of asks."""
        try:
            await migrate(self.database.connections)
            await self.notifier.open()
        except StoreError:
            await self.database.connections.close()
            raise
        self.database.is_open = True

    async def close(self) -> None:
        """Finish the submitted work and close the connections."""
        await self.database.finish()
        await self.asks.changes.finish()
        await self.notifier.close()
        await self.database.connections.close()

    async def check(self) -> None:
        """Durably write a row, and read it."""
        await self.database.execute("UPDATE health SET checks = checks + 1")
        await self.database.fetch("SELECT checks FROM health")

    async def counts(self) -> Mapping[str, int]:
        found = await self.database.fetch("SELECT name, sum(n)::bigint FROM counters GROUP BY name")
        return dict.fromkeys([*Status, *DeliveryState], 0) | dict(found)


class PostgresRecord(SqlRecord):
    # Only lines of transactions before the oldest one in progress: no other line can appear among or before these.
    # https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-SNAPSHOT
    _changed = """SELECT tx, seq, ask_id FROM record
        WHERE (tx, seq) > ($1, $2) AND tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
        AND ask_id IS NOT NULL ORDER BY tx, seq LIMIT $3"""
    _exists = "SELECT 1 FROM record WHERE tx = $1 AND seq = $2 AND ask_id IS NOT NULL"

    def __init__(self, db: PostgresDatabase) -> None:
        super().__init__(db)
        self._renumbering = asyncio.Lock()
        self._is_renumbered = False

    async def list_changed(self, after: str, limit: int) -> ChangedAsks:
        async with self._renumbering:
            if not self._is_renumbered:
                await self._renumber()
                self._is_renumbered = True
        return await super().list_changed(after, limit)

    async def _renumber(self) -> None:
        """Let lines that were restored from another server, which may have been many transactions ahead, count as new.

        No export skips one meanwhile, since none reads lines of transactions that are in progress or still to come.
        """
        statement, last = _RENUMBER.format(limit=RENUMBERED_AT_ONCE), [(-1, 0)]
        while last:
            last = await self._db.execute(statement, *last[0])

    async def add(self, ask_id: str | None, entry: RecordEntry) -> None:
        params = Parameters()
        statement = asks.insert_lines(params, rows.entry_rows(ask_id, [entry]))
        await self._db.execute(statement, *params.values)


class PostgresMessageQueries(SqlMessageQueries):
    async def list_outdated(self, limit: int, free_for: str | None = None) -> Sequence[str]:
        return [ask_id for (ask_id,) in await self._db.fetch(_OUTDATED, limit, free_for)]


class PostgresMaintenance(SqlMaintenance):
    async def prune(self, before: float) -> int:
        deleted = await super().prune(before) + await self._prune_table("seen", before)
        await self._db.execute("DELETE FROM buckets WHERE not_before < clock_timestamp()")
        return deleted

    async def _is_new_clock_change(self, tx: Transaction, at: float) -> bool:
        return bool(await tx.execute(_NOTE_CLOCK_CHANGE, at, _SAME_CLOCK_CHANGE))
