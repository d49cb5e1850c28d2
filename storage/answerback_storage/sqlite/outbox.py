"""The webhooks to send, in SQLite."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from answerback.core.ask import RecordEntry
from answerback.ports.claims import Claim
from answerback.ports.store_values import StoredDelivery
from answerback_storage import rows
from answerback_storage.outbox import SqlOutbox
from answerback_storage.sqlite import asks
from answerback_storage.sqlite import claim_statements as claims
from answerback_storage.sqlite.database import SqliteDatabase
from answerback_storage.sqlite.statements import run_statement

# A delivery waits for every earlier one of its ask that is still pending. The indexes hold pending deliveries in time
# order; without the hints, SQLite sorts them all.
_PENDING: Final = """FROM deliveries INDEXED BY {} WHERE state = 'pending'
    AND NOT EXISTS (SELECT 1 FROM deliveries AS earlier WHERE earlier.state = 'pending'
        AND earlier.ask_id = deliveries.ask_id AND earlier.seq < deliveries.seq)"""
_FIRST_PENDING: Final = _PENDING.format("deliveries_due")
_EXPIRED: Final = f"""SELECT seq {_PENDING.format("deliveries_held")} AND holder IS NOT NULL
    AND claimed_until <= ? AND next_at <= ? ORDER BY claimed_until"""
_FREE: Final = f"""SELECT seq {_PENDING.format("deliveries_free")} AND holder IS NULL
    AND next_at <= ? ORDER BY next_at"""
_LOAD_ROW: Final = f"SELECT {rows.DELIVERY_COLUMNS} FROM deliveries WHERE seq = ?"
# The plus keeps SQLite from scanning all pending rows for the few that were found.
_CLAIM: Final = f"""UPDATE deliveries SET holder = $1, claimed_until = $3
    FROM (SELECT value ->> 0 AS wanted, value ->> 1 AS tried FROM json_each($4))
    WHERE id = wanted AND tries = tried AND +state = 'pending'
    AND {claims.unclaimed("holder", "claimed_until", "$2")} RETURNING id"""
_RENEW: Final = """UPDATE deliveries SET claimed_until = $1
    WHERE id = $2 AND holder = $3 AND state = 'pending' RETURNING 1"""
_REMOVE: Final = "DELETE FROM deliveries WHERE id = ? AND (? IS NULL OR holder = ?)"


class SqliteOutbox(SqlOutbox[SqliteDatabase]):
    """The outbox in an SQLite file.

    The reader thread does the searching, so that only what is found costs a transaction.
    """

    _first_pending = _FIRST_PENDING
    _release = """UPDATE deliveries INDEXED BY deliveries_held SET holder = NULL
        WHERE state = 'pending' AND holder IS NOT NULL AND holder = $1"""

    async def claim(self, claim: Claim, now: float, limit: int) -> Sequence[StoredDelivery]:
        found = await self._db.read(lambda db: self._claimable(db, now, limit))
        return await self._db.write(lambda db: _claim(db, found, claim)) if found else ()

    async def renew(self, delivery_id: str, claim: Claim) -> bool:
        holder, _, until = rows.claim_row(claim)
        return bool(await self._db.execute(_RENEW, until, delivery_id, holder))

    async def save_results(
        self,
        results: Sequence[StoredDelivery],
        entries: Sequence[tuple[str, RecordEntry]],
        holder: str | None = None,
    ) -> None:
        def run(db: sqlite3.Connection) -> None:
            if sum(_save_result(db, result, holder) for result in results) or holder is None:
                asks.add_lines(db, entries)

        await self._db.write(run)

    async def _find(
        self, query: str, values: Sequence[object], limit: int
    ) -> Sequence[tuple[int, StoredDelivery]]:
        def run(db: sqlite3.Connection) -> list[tuple[int, StoredDelivery]]:
            seqs = run_statement(db, f"SELECT seq FROM deliveries {query}", values)
            return list(islice(self._load_readable(db, seqs), limit))

        return await self._db.read(run)

    def _load_readable(
        self, db: sqlite3.Connection, seqs: Iterable[tuple[int]]
    ) -> Iterator[tuple[int, StoredDelivery]]:
        def read(seq: int) -> tuple[int, StoredDelivery] | None:
            row = db.execute(_LOAD_ROW, (seq,)).fetchone()
            return None if row is None else (seq, rows.delivery_from_row(row))

        # A push that has been settled since its number was read is gone.
        numbers = (seq for (seq,) in seqs)
        unreadable = self._db.unreadable
        return filter(None, asks.read_valid_rows(db, unreadable, "deliveries", numbers, read))

    def _claimable(self, db: sqlite3.Connection, now: float, limit: int) -> list[StoredDelivery]:
        """Return the first pending delivery of each ask if it is due and unclaimed, oldest first."""
        expired = db.execute(_EXPIRED, (time.monotonic(), now))  # with claims that have expired
        found = self._load_readable(db, chain(expired, db.execute(_FREE, (now,))))
        return [stored for _, stored in islice(found, limit)]


def _claim(
    db: sqlite3.Connection, found: Sequence[StoredDelivery], claim: Claim
) -> list[StoredDelivery]:
    """Claim those of the deliveries that are unchanged and unclaimed, and return them."""
    wanted = rows.dump([[stored.delivery.id, stored.tries] for stored in found])
    taken = {row[0] for row in run_statement(db, _CLAIM, (*rows.claim_row(claim), wanted))}
    return [stored for stored in found if stored.delivery.id in taken]


def _save_result(db: sqlite3.Connection, result: StoredDelivery, holder: str | None) -> bool:
    if result.is_finished_push:
        values = (result.delivery.id, holder, holder)
        return db.execute(_REMOVE, values).rowcount > 0
    updated = db.execute(
        """UPDATE deliveries SET state = ?, tries = ?, next_at = ?, last_status = ?,
            last_error = ?, updated_at = ?, holder = NULL, claimed_until = NULL
            WHERE id = ? AND (? IS NULL OR holder = ?)""",
        (*rows.delivery_row(result)[7:], result.delivery.id, holder, holder),
    )
    return updated.rowcount > 0
