"""Claims in the SQLite file; see `answerback.ports.claims.Claims`."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence

from answerback.core.ask import Ask
from answerback.ports.claims import MIN_REMAINING_FRACTION, Claim, ClaimKind
from answerback.ports.store_values import StoredDelivery
from answerback_storage.rate_limit_pauses import RateLimitPauses
from answerback_storage.sqlite import asks, claim_statements, outbox
from answerback_storage.sqlite.database import SqliteDatabase


class SqliteClaims(SqliteDatabase, RateLimitPauses):
    """The claims of `answerback.ports.store.Store`.

    The reader thread does the searching, so that only what is found costs a transaction.
    """

    async def claim_message(self, ask_id: str, claim: Claim) -> Ask | None:
        """Claim the message of an ask. Return the ask, or None if it does not exist or another holds its message."""
        ask, holder, until = await self._read(
            lambda db: asks.load_with_claim(db, self._requests, ask_id)
        )
        if ask is None or ask.shown_revision >= ask.revision:
            return ask
        seconds_left = 0.0 if holder is None else until - time.monotonic()
        if seconds_left > 0 and holder != claim.holder:
            return None
        if seconds_left >= MIN_REMAINING_FRACTION * claim.seconds:
            return ask
        if not await self._write(lambda db: claim_statements.take_message(db, ask_id, claim)):
            return None
        return await self._read(lambda db: asks.load(db, self._requests, ask_id))

    async def claim_due(self, claim: Claim, now: float, limit: int) -> Sequence[str]:
        """Claim the timers of due asks, and return the asks' ids, earliest first."""
        found = await self._read(lambda db: claim_statements.list_due(db, claim, now, limit))
        ours = {ask_id for ask_id, held in found if held}
        if others := [ask_id for ask_id, held in found if not held]:
            ours |= await self._write(lambda db: claim_statements.take_due(db, claim, now, others))
        return [ask_id for ask_id, _ in found if ask_id in ours]

    async def claim_deliveries(
        self, claim: Claim, now: float, limit: int
    ) -> Sequence[StoredDelivery]:
        """Claim due pending deliveries that nobody holds, and return them, oldest first."""
        logged = self._requests.logged_rows
        found = await self._read(lambda db: outbox.claimable(db, logged, now, limit))
        return await self._write(lambda db: outbox.claim(db, found, claim)) if found else ()

    async def renew_delivery(self, delivery_id: str, claim: Claim) -> bool:
        """Renew a claim. Return False if this holder does not have the delivery."""
        return await self._write(lambda db: outbox.renew(db, delivery_id, claim))

    async def release(self, work: ClaimKind, holder: str) -> None:
        """Release everything of a kind that the holder has claimed."""
        await self._write(lambda db: claim_statements.release(db, work, holder))

    async def lease(self, name: str, claim: Claim) -> int | None:
        """Take or renew the lease of this name. Return its epoch, or None while another holder has it."""
        return await self._write(lambda db: claim_statements.lease(db, name, claim))

    async def release_lease(self, name: str, holder: str) -> None:
        """End a lease, if this holder has it."""
        await self._write(lambda db: claim_statements.release_lease(db, name, holder))

    async def time(self) -> float | None:
        """Return None: the store has no clock of its own."""
        return None

    def listen(self, callback: Callable[[str | None], None]) -> None:
        """Do nothing: one process owns the file (`hold_exclusive_lock`), and `change` notifies its waiters."""

    async def revisions(self, ask_ids: Collection[str]) -> Mapping[str, int]:
        """Return the revisions of asks, read together; asks that do not exist are left out."""
        wanted = list(ask_ids)
        return dict(await self._read(lambda db: asks.revisions(db, wanted)))
