"""Claims, leases and revisions in the SQLite file; see `answerback.ports.claims`."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence

from answerback.core.ask import Ask
from answerback.ports.claims import MIN_REMAINING_FRACTION, Claim, Claims, Leases, RemoteChanges
from answerback_storage.base_store import Part
from answerback_storage.sql_database import placeholders
from answerback_storage.sqlite import asks, claim_statements
from answerback_storage.sqlite.database import SqliteDatabase


class SqliteClaims(Part[SqliteDatabase], Claims):
    """Claims in an SQLite file.

    The reader thread does the searching, so that only what is found costs a transaction.
    """

    async def claim_message(self, ask_id: str, claim: Claim) -> Ask | None:
        ask, holder, until = await self._db.read(
            lambda db: asks.load_with_claim(db, self._db.requests, ask_id)
        )
        if ask is None or ask.shown_revision >= ask.revision:
            return ask
        seconds_left = 0.0 if holder is None else until - time.monotonic()
        if seconds_left > 0 and holder != claim.holder:
            return None
        if seconds_left >= MIN_REMAINING_FRACTION * claim.seconds:
            return ask
        if not await self._db.write(lambda db: claim_statements.take_message(db, ask_id, claim)):
            return None
        return await self._db.read(lambda db: asks.load(db, self._db.requests, ask_id))

    async def claim_due(self, claim: Claim, now: float, limit: int) -> Sequence[str]:
        found = await self._db.read(lambda db: claim_statements.list_due(db, claim, now, limit))
        ours = {ask_id for ask_id, held in found if held}
        if others := [ask_id for ask_id, held in found if not held]:
            ours |= await self._db.write(
                lambda db: claim_statements.take_due(db, claim, now, others)
            )
        return [ask_id for ask_id, _ in found if ask_id in ours]

    async def next_due(self, after: float) -> float | None:
        found = await self._db.fetch("SELECT min(due) FROM asks WHERE due > $1", after)
        when: float | None = found[0][0]
        return when

    async def release_messages(self, holder: str) -> None:
        await self._db.execute(claim_statements.RELEASE_MESSAGES, holder)

    async def release_timers(self, holder: str) -> None:
        await self._db.execute(claim_statements.RELEASE_TIMERS, holder)


class SqliteLeases(Part[SqliteDatabase], Leases):
    """Leases in an SQLite file."""

    async def take(self, name: str, claim: Claim) -> int | None:
        return await self._db.write(lambda db: claim_statements.lease(db, name, claim))

    async def release(self, name: str, holder: str) -> None:
        await self._db.write(lambda db: claim_statements.release_lease(db, name, holder))


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
