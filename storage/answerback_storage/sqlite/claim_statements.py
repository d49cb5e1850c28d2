"""The statements about leases and the claims of asks. They run on a connection inside the caller's transaction.

A claim is two columns of the claimed row: the holder, and when the claim ends by the monotonic clock
(`rows.claim_row`).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from typing import Final

from answerback.core.errors import LeaseLostError
from answerback.ports.claims import MIN_REMAINING_FRACTION, Claim, Fence
from answerback_storage import rows


def unclaimed(holder: str, until: str, now: str) -> str:
    """Return the SQL condition that nobody holds the claim in these two columns."""
    return f"({holder} IS NULL OR {until} <= {now})"


def claim_assignments(*, revision: str, shown: str, holder: str, now: str, until: str) -> str:
    """Return the SET list of an UPDATE of asks. An up-to-date message loses its claim; any other is claimed if free."""
    is_available = f"{holder} IS NOT NULL AND ({unclaimed('show_holder', 'show_until', now)} OR show_holder = {holder})"
    return ", ".join(
        f"{column} = CASE WHEN {shown} >= {revision} THEN NULL WHEN {is_available} THEN {value} ELSE {column} END"
        for column, value in (("show_holder", holder), ("show_until", until))
    )


_TAKE_MESSAGE: Final = f"""UPDATE asks SET show_holder = ?1, show_until = ?3 WHERE id = ?4
    AND shown_revision < revision AND ({unclaimed("show_holder", "show_until", "?2")} OR show_holder = ?1)"""
_DUE: Final = f"""SELECT id, due_holder IS ?1 AND due_until >= ?5 FROM asks
    WHERE due <= ?3 AND ({unclaimed("due_holder", "due_until", "?2")} OR due_holder = ?1) ORDER BY due LIMIT ?4"""
_TAKE_DUE: Final = f"""UPDATE asks SET due_holder = ?1, due_until = ?3
    WHERE id IN (SELECT value FROM json_each(?4)) AND +due <= ?5
    AND ({unclaimed("due_holder", "due_until", "?2")} OR due_holder = ?1) RETURNING id"""
RELEASE_MESSAGES: Final = """UPDATE asks INDEXED BY asks_behind SET show_holder = NULL
    WHERE shown_revision < revision AND show_holder = $1"""
RELEASE_TIMERS: Final = "UPDATE asks SET due_holder = NULL WHERE due_holder = $1"
_LEASE: Final = """INSERT INTO leases (name, holder, epoch, until) VALUES (?4, ?1, 1, ?3)
    ON CONFLICT (name) DO UPDATE SET epoch = epoch + (holder <> ?1 OR until <= ?2), holder = ?1, until = ?3
    WHERE until <= ?2 OR holder = ?1 RETURNING epoch"""
_END_LEASE: Final = "UPDATE leases SET until = ? WHERE name = ? AND holder = ?"
_FENCE: Final = "SELECT 1 FROM leases WHERE name = ? AND epoch = ? AND until > ?"


def take_message(db: sqlite3.Connection, ask_id: str, claim: Claim) -> bool:
    """Claim the message of an ask, unless another holder has it."""
    return db.execute(_TAKE_MESSAGE, (*rows.claim_row(claim), ask_id)).rowcount == 1


def list_due(
    db: sqlite3.Connection, claim: Claim, now: float, limit: int
) -> list[tuple[str, bool]]:
    """Return the ids of asks whose timer is due, earliest first, without those that another holder has.

    With each id comes whether this holder's claim on it lasts long enough.
    """
    holder, at, until = rows.claim_row(Claim(claim.holder, claim.seconds * MIN_REMAINING_FRACTION))
    found = db.execute(_DUE, (holder, at, now, limit, until)).fetchall()
    return [(ask_id, bool(held)) for ask_id, held in found]


def take_due(db: sqlite3.Connection, claim: Claim, now: float, ids: Sequence[str]) -> set[str]:
    """Claim the timers of these asks unless another holder has them, and return the ids that were claimed."""
    values = (*rows.claim_row(claim), rows.dump(list(ids)), now)
    return {ask_id for (ask_id,) in db.execute(_TAKE_DUE, values)}


def lease(db: sqlite3.Connection, name: str, claim: Claim) -> int | None:
    """Take or renew a lease. Return its epoch, or None while another holder has it."""
    row = db.execute(_LEASE, (*rows.claim_row(claim), name)).fetchone()
    return None if row is None else int(row[0])


def release_lease(db: sqlite3.Connection, name: str, holder: str) -> None:
    """End a lease of this holder."""
    db.execute(_END_LEASE, (time.monotonic(), name, holder))


def check_fence(db: sqlite3.Connection, fence: Fence) -> None:
    """Raise LeaseLostError unless the lease is held in that epoch."""
    if db.execute(_FENCE, (fence.lease, fence.epoch, time.monotonic())).fetchone() is None:
        raise LeaseLostError(fence.lease)
