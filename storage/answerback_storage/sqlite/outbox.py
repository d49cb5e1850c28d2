"""The statements about webhook deliveries, on a connection inside a transaction of the caller's."""

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

# A delivery waits for every earlier one of its ask that is still pending. The indexes hold the pending
# ones in the order of their times: without the hints SQLite sorts them all.
_PENDING: Final = """FROM deliveries INDEXED BY {} WHERE state = 'pending'
    AND NOT EXISTS (SELECT 1 FROM deliveries AS earlier WHERE earlier.state = 'pending'
        AND earlier.ask_id = deliveries.ask_id AND earlier.seq < deliveries.seq)"""
_FIRST: Final = _PENDING.format("deliveries_due")
_LEFT: Final = f"""SELECT seq {_PENDING.format("deliveries_held")} AND holder IS NOT NULL
    AND claimed_until <= ? AND next_at <= ? ORDER BY claimed_until"""
_FREE: Final = f"""SELECT seq {_PENDING.format("deliveries_free")} AND holder IS NULL
    AND next_at <= ? ORDER BY next_at"""


Told = set[tuple[str, int]]
"""The rows that were logged as unreadable, by table and number."""

_LOAD_ROW: Final = f"SELECT {rows.DELIVERY_COLUMNS} FROM deliveries WHERE seq = ?"


def insert(db: sqlite3.Connection, deliveries: Iterable[Delivery]) -> None:
    """Stores new deliveries, to be sent at once."""
    db.executemany(
        f"INSERT INTO deliveries ({rows.DELIVERY_COLUMNS})"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [rows.delivery_row(rows.new_delivery(delivery)) for delivery in deliveries],
    )


# A plus keeps SQLite from looking through all that is pending for the few that were found.
_CLAIM: Final = f"""UPDATE deliveries SET holder = ?1, claimed_until = ?3
    FROM (SELECT value ->> 0 AS wanted, value ->> 1 AS tried FROM json_each(?4))
    WHERE id = wanted AND tries = tried AND +state = 'pending'
    AND {claims.unclaimed("holder", "claimed_until", "?2")} RETURNING id"""
_RENEW: Final = (
    "UPDATE deliveries SET claimed_until = ? WHERE id = ? AND holder = ? AND state = 'pending'"
)


def claimable(db: sqlite3.Connection, told: Told, now: float, limit: int) -> list[StoredDelivery]:
    """The first pending delivery of each ask, where its time has come and nobody holds it any more, oldest first."""
    left = db.execute(_LEFT, (time.monotonic(), now))  # by holders whose claims are over
    found = chain(left, db.execute(_FREE, (now,)))
    return list(islice(_loaded(db, told, (seq for (seq,) in found)), limit))


def claim(
    db: sqlite3.Connection, found: Sequence[StoredDelivery], claim: Claim
) -> list[StoredDelivery]:
    """Those of the deliveries that are still as they were found, and nobody's: claimed."""
    wanted = rows.dump([[one.delivery.id, one.tries] for one in found])
    taken = {row[0] for row in db.execute(_CLAIM, (*rows.claim_row(claim), wanted))}
    return [one for one in found if one.delivery.id in taken]


def renew(db: sqlite3.Connection, delivery_id: str, claim: Claim) -> bool:
    """Whether a delivery is still the holder's; its claim is renewed."""
    holder, _, until = rows.claim_row(claim)
    return db.execute(_RENEW, (until, delivery_id, holder)).rowcount == 1


def _loaded(db: sqlite3.Connection, told: Told, seqs: Iterable[int]) -> Iterator[StoredDelivery]:
    def read(seq: int) -> StoredDelivery:
        return rows.delivery_from_row(db.execute(_LOAD_ROW, (seq,)).fetchone())

    return asks.read_valid_rows(db, told, ("deliveries", seqs), read)


def next_due(db: sqlite3.Connection, after: float) -> float | None:
    """When, later than ``after``, the next delivery may be sent."""
    found = db.execute(
        f"SELECT next_at {_FIRST} AND next_at > ? ORDER BY next_at LIMIT 1", (after,)
    ).fetchone()
    return None if found is None else found[0]


def tried(db: sqlite3.Connection, results: Iterable[StoredDelivery], holder: str | None) -> int:
    """Stores what became of deliveries that are the holder's (None: anybody's); how many those are."""
    return sum(_tried(db, result, holder) for result in results)


def _tried(db: sqlite3.Connection, result: StoredDelivery, holder: str | None) -> bool:
    """Whether the delivery is the holder's; whoever got it has been told."""
    ours = db.execute(
        """UPDATE deliveries SET state = ?, tries = ?, next_at = ?, last_status = ?,
            last_error = ?, updated_at = ?, holder = NULL, claimed_until = NULL
            WHERE id = ? AND (? IS NULL OR holder = ?)""",
        (*rows.delivery_row(result)[7:], result.delivery.id, holder, holder),
    )
    if ours.rowcount and result.state is DeliveryState.DELIVERED:
        late_answers.mark_told_by_delivery(db, result.delivery, result.updated_at)
    return ours.rowcount > 0


def set_back(db: sqlite3.Connection, seconds: float, at: float) -> None:
    """Has what was planned by a clock that was then set back to ``at`` come as soon as it would have come."""
    db.execute(
        "UPDATE deliveries SET next_at = next_at - ? WHERE state = 'pending' AND next_at > ?",
        (seconds, at),
    )


def get(db: sqlite3.Connection, delivery_id: str) -> StoredDelivery | None:
    """One delivery."""
    row = db.execute(
        f"SELECT {rows.DELIVERY_COLUMNS} FROM deliveries WHERE id = ?", (delivery_id,)
    ).fetchone()
    return None if row is None else rows.delivery_from_row(row)


def page(
    db: sqlite3.Connection,
    told: Told,
    filters: dict[str, str | None],
    span: tuple[int, int],
) -> Page[StoredDelivery]:
    """Deliveries whose columns have these values (None: any), newest first: behind a row, so many."""
    seqs, cursor = asks.newest_first(db, "deliveries", filters, span)
    return Page(tuple(_loaded(db, told, seqs)), cursor)
