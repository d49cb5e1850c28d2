"""The parts of statements that concern claims, and the check of a lease, for a transaction that does more.

A claim is two columns of the claimed row: the holder, and when the claim ends by the monotonic clock
(`rows.claim_row`).
"""

from __future__ import annotations

import sqlite3
import time
from typing import Final

from answerback.core.errors import LeaseLostError
from answerback.ports.claims import Fence


def unclaimed(holder: str, until: str, now: str) -> str:
    """Return the SQL condition that no process holds the claim in these two columns."""
    return f"({holder} IS NULL OR {until} <= {now})"


def claim_assignments(*, revision: str, shown: str, holder: str, now: str, until: str) -> str:
    """Return the SET list of an UPDATE of asks. An up-to-date message loses its claim; any other is claimed if free."""
    is_available = f"{holder} IS NOT NULL AND ({unclaimed('show_holder', 'show_until', now)} OR show_holder = {holder})"
    return ", ".join(
        f"{column} = CASE WHEN {shown} >= {revision} THEN NULL WHEN {is_available} THEN {value} ELSE {column} END"
        for column, value in (("show_holder", holder), ("show_until", until))
    )


_FENCE: Final = "SELECT 1 FROM leases WHERE name = ? AND epoch = ? AND until > ?"


def check_fence(db: sqlite3.Connection, fence: Fence) -> None:
    """Raise LeaseLostError unless the lease is held in that epoch."""
    if db.execute(_FENCE, (fence.lease, fence.epoch, time.monotonic())).fetchone() is None:
        raise LeaseLostError(fence.lease)
