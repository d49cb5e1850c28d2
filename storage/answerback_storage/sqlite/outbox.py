"""The statements about webhook deliveries. They run on a connection inside the caller's transaction."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from answerback.ports.claims import Claim
from answerback.ports.store_values import Delivery, DeliveryState, Page, StoredDelivery
from answerback_storage import rows
from answerback_storage.sqlite import asks, late_answers
from answerback_storage.sqlite import claim_statements as claims

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


LoggedRows = set[tuple[str, int]]
"""The rows that were already logged as unreadable, by table and number."""

_LOAD_ROW: Final = f"SELECT {rows.DELIVERY_COLUMNS} FROM deliveries WHERE seq = ?"


def insert(db: sqlite3.Connection, deliveries: Iterable[Delivery]) -> None:
    """Store new deliveries, to be sent at once."""
    db.executemany(
        f"INSERT INTO deliveries ({rows.DELIVERY_COLUMNS})"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [rows.delivery_row(rows.new_delivery(delivery)) for delivery in deliveries],
    )


# The plus keeps SQLite from scanning all pending rows for the few that were found.
_CLAIM: Final = f"""UPDATE deliveries SET holder = ?1, claimed_until = ?3
    FROM (SELECT value ->> 0 AS wanted, value ->> 1 AS tried FROM json_each(?4))
    WHERE id = wanted AND tries = tried AND +state = 'pending'
    AND {claims.unclaimed("holder", "claimed_until", "?2")} RETURNING id"""
_RENEW: Final = (
    "UPDATE deliveries SET claimed_until = ? WHERE id = ? AND holder = ? AND state = 'pending'"
)


def claimable(
    db: sqlite3.Connection, logged: LoggedRows, now: float, limit: int
) -> list[StoredDelivery]:
    """Return the first pending delivery of each ask if it is due and unclaimed, oldest first."""
    expired = db.execute(_EXPIRED, (time.monotonic(), now))  # with claims that have expired
    found = chain(expired, db.execute(_FREE, (now,)))
    return list(islice(_load_readable(db, logged, (seq for (seq,) in found)), limit))


def claim(
    db: sqlite3.Connection, found: Sequence[StoredDelivery], claim: Claim
) -> list[StoredDelivery]:
    """Claim those of the deliveries that are unchanged and unclaimed, and return them."""
    wanted = rows.dump([[stored.delivery.id, stored.tries] for stored in found])
    taken = {row[0] for row in db.execute(_CLAIM, (*rows.claim_row(claim), wanted))}
    return [stored for stored in found if stored.delivery.id in taken]


def renew(db: sqlite3.Connection, delivery_id: str, claim: Claim) -> bool:
    """Renew a delivery's claim. Return whether this holder still has it."""
    holder, _, until = rows.claim_row(claim)
    return db.execute(_RENEW, (until, delivery_id, holder)).rowcount == 1


def _load_readable(
    db: sqlite3.Connection, logged: LoggedRows, seqs: Iterable[int]
) -> Iterator[StoredDelivery]:
    def read(seq: int) -> StoredDelivery:
        return rows.delivery_from_row(db.execute(_LOAD_ROW, (seq,)).fetchone())

    return asks.read_valid_rows(db, logged, ("deliveries", seqs), read)


def next_due(db: sqlite3.Connection, after: float) -> float | None:
    """Return when, later than ``after``, the next delivery may be sent."""
    found = db.execute(
        f"SELECT next_at {_FIRST_PENDING} AND next_at > ? ORDER BY next_at LIMIT 1", (after,)
    ).fetchone()
    return None if found is None else found[0]


def save_results(
    db: sqlite3.Connection, results: Iterable[StoredDelivery], holder: str | None
) -> int:
    """Store the results of deliveries that the holder has claimed (None: of all), and return how many were stored."""
    return sum(_save_result(db, result, holder) for result in results)


def _save_result(db: sqlite3.Connection, result: StoredDelivery, holder: str | None) -> bool:
    """Store one result if the holder has the delivery. If it was delivered, its agent has seen the outcome."""
    updated = db.execute(
        """UPDATE deliveries SET state = ?, tries = ?, next_at = ?, last_status = ?,
            last_error = ?, updated_at = ?, holder = NULL, claimed_until = NULL
            WHERE id = ? AND (? IS NULL OR holder = ?)""",
        (*rows.delivery_row(result)[7:], result.delivery.id, holder, holder),
    )
    if updated.rowcount and result.state is DeliveryState.DELIVERED:
        late_answers.mark_seen_by_delivery(db, result.delivery, result.updated_at)
    return updated.rowcount > 0


def shift_schedule(db: sqlite3.Connection, seconds: float, at: float) -> None:
    """Make planned attempts due earlier, by as much as the clock was set back to ``at``."""
    db.execute(
        "UPDATE deliveries SET next_at = next_at - ? WHERE state = 'pending' AND next_at > ?",
        (seconds, at),
    )


def get(db: sqlite3.Connection, delivery_id: str) -> StoredDelivery | None:
    """Return one delivery, or None."""
    row = db.execute(
        f"SELECT {rows.DELIVERY_COLUMNS} FROM deliveries WHERE id = ?", (delivery_id,)
    ).fetchone()
    return None if row is None else rows.delivery_from_row(row)


def page(
    db: sqlite3.Connection,
    logged: LoggedRows,
    filters: dict[str, str | None],
    span: tuple[int, int],
) -> Page[StoredDelivery]:
    """Return a page of deliveries whose columns have these values (None: any), newest first.

    ``span`` is the row that they come after, and the maximum number of deliveries.
    """
    seqs, cursor = asks.newest_first(db, "deliveries", filters, span)
    return Page(tuple(_load_readable(db, logged, seqs)), cursor)
