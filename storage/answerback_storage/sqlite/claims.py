"""Claims, leases and revisions in the SQLite file; see `answerback.ports.claims`."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from answerback.core.ask import Ask
from answerback.ports.claims import (
    MIN_REMAINING_FRACTION,
    Claim,
    Leases,
    RateLimits,
    RemoteChanges,
)
from answerback_storage import rows
from answerback_storage.claims import SqlClaims
from answerback_storage.sql_database import Part, placeholders
from answerback_storage.sqlite import asks
from answerback_storage.sqlite.claim_statements import unclaimed
from answerback_storage.sqlite.database import SqliteDatabase

_TAKE_MESSAGE: Final = f"""UPDATE asks SET show_holder = $1, show_until = $3 WHERE id = $4
    AND shown_revision < revision AND ({unclaimed("show_holder", "show_until", "$2")} OR show_holder = $1)
    RETURNING id"""
_DUE: Final = f"""SELECT id, due_holder IS $1 AND due_until >= $5 FROM asks
    WHERE due <= $3 AND ({unclaimed("due_holder", "due_until", "$2")} OR due_holder = $1) ORDER BY due LIMIT $4"""
_TAKE_DUE: Final = f"""UPDATE asks SET due_holder = $1, due_until = $3
    WHERE id IN (SELECT value FROM json_each($4)) AND +due <= $5
    AND ({unclaimed("due_holder", "due_until", "$2")} OR due_holder = $1) RETURNING id"""
_LEASE: Final = """INSERT INTO leases (name, holder, epoch, until) VALUES ($4, $1, 1, $3)
    ON CONFLICT (name) DO UPDATE SET epoch = epoch + (holder <> $1 OR until <= $2), holder = $1, until = $3
    WHERE until <= $2 OR holder = $1 RETURNING epoch"""
_END_LEASE: Final = "UPDATE leases SET until = $1 WHERE name = $2 AND holder = $3"


class SqliteClaims(SqlClaims[SqliteDatabase]):
    """Claims in an SQLite file.

    The reader thread does the searching, so that only what is found costs a transaction.
    """

    _release_messages = """UPDATE asks INDEXED BY asks_behind SET show_holder = NULL
        WHERE shown_revision < revision AND show_holder = $1"""

    async def claim_message(self, ask_id: str, claim: Claim) -> Ask | None:
        ask, holder, until = await self._db.read(
            lambda db: asks.load_with_claim(db, self._db.requests, ask_id)
        )
        if ask is None or ask.placement.shown_revision >= ask.revision:
            return ask
        # By the monotonic clock: no other process has the file, and setting the clock must end no claim.
        seconds_left = 0.0 if holder is None else until - time.monotonic()
        if seconds_left > 0 and holder != claim.holder:
            return None
        # A claim that lasts long enough is not renewed: that would cost a commit for each show.
        if seconds_left >= MIN_REMAINING_FRACTION * claim.seconds:
            return ask
        if not await self._db.execute(_TAKE_MESSAGE, *rows.claim_row(claim), ask_id):
            return None
        # Read again: a click may have been committed between the first read and the claim.
        return await self._db.read(lambda db: asks.load(db, self._db.requests, ask_id))

    async def claim_due(self, claim: Claim, now: float, limit: int) -> Sequence[str]:
        lasting = claim._replace(seconds=claim.seconds * MIN_REMAINING_FRACTION)
        holder, at, until = rows.claim_row(lasting)
        found = await self._db.fetch(_DUE, holder, at, now, limit, until)
        ours = {ask_id for ask_id, held_long_enough in found if held_long_enough}
        if others := [ask_id for ask_id, _ in found if ask_id not in ours]:
            values = (*rows.claim_row(claim), rows.dump(others), now)
            ours |= {ask_id for (ask_id,) in await self._db.execute(_TAKE_DUE, *values)}
        # In the order of `found`: whatever is due first is done first.
        return [ask_id for ask_id, _ in found if ask_id in ours]


class SqliteLeases(Part[SqliteDatabase], Leases):
    async def take(self, name: str, claim: Claim) -> int | None:
        found = await self._db.execute(_LEASE, *rows.claim_row(claim), name)
        return found[0][0] if found else None

    async def release(self, name: str, holder: str) -> None:
        await self._db.execute(_END_LEASE, time.monotonic(), name, holder)


class RateLimitPauses(RateLimits):
    """Pauses by bucket, in memory. A restart forgets them; the next 429 restores them."""

    def __init__(self) -> None:
        self._not_before: dict[str, float] = {}

    async def set_retry_after(self, bucket: str, seconds: float) -> None:
        now = time.monotonic()
        self._not_before = {name: at for name, at in self._not_before.items() if at > now}
        # A shorter pause that arrives late must not end a longer one.
        self._not_before[bucket] = max(now + seconds, self._not_before.get(bucket, 0.0))

    async def get_retry_after(self, bucket: str) -> float:
        return max(self._not_before.get(bucket, 0.0) - time.monotonic(), 0.0)


class SqliteRemoteChanges(Part[SqliteDatabase], RemoteChanges):
    """There are no remote changes: one process owns the file (`hold_exclusive_lock`)."""

    def listen(self, callback: Callable[[str | None], None]) -> None:
        """Do nothing."""

    def announce(self, name: str) -> None:
        """Do nothing."""

    async def revisions(self, ask_ids: Collection[str]) -> Mapping[str, int]:
        statement = f"SELECT id, revision FROM asks WHERE id IN ({placeholders(len(ask_ids))})"
        return dict(await self._db.fetch(statement, *ask_ids))

    async def time(self) -> None:
        """Return None: the file has no clock of its own."""
