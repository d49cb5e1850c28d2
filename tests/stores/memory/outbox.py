"""The webhooks to send, in memory."""

from __future__ import annotations

import time
from collections.abc import Sequence

from answerback.core.ask import RecordEntry
from answerback.ports.claims import Claim, ClaimKind
from answerback.ports.store import Outbox
from answerback.ports.store_values import DeliveryState, Page, StoredDelivery
from answerback_storage import cursors
from answerback_storage.sql_database import Part
from tests.stores.memory.database import MemoryDatabase
from tests.stores.memory.search import matches

_KIND = ClaimKind.DELIVERY


class MemoryOutbox(Part[MemoryDatabase], Outbox):
    """The outbox in memory."""

    async def claim(self, claim: Claim, now: float, limit: int) -> Sequence[StoredDelivery]:
        tables = self._db.tables()
        held, at = tables.claims[_KIND], time.monotonic()
        due = [each.delivery.id for each in self._first_pending() if _next_attempt(each) <= now]
        free = [key for key in due if key not in held or held[key][1] <= at]
        return [tables.deliveries[key] for key in self._db.claim_up_to(_KIND, free, claim, limit)]

    async def renew(self, delivery_id: str, claim: Claim) -> bool:
        held = self._db.is_held_by(_KIND, delivery_id, claim.holder)
        return held and self._db.try_claim(_KIND, delivery_id, claim)

    async def release(self, holder: str) -> None:
        self._db.release(_KIND, holder)

    async def next_due(self, after: float = 0.0) -> float | None:
        times = map(_next_attempt, self._first_pending())
        return next((at for at in times if at > after), None)

    async def save_results(
        self,
        results: Sequence[StoredDelivery],
        entries: Sequence[tuple[str, RecordEntry]],
        holder: str | None = None,
    ) -> None:
        tables, written = self._db.tables(), holder is None
        for result in results:
            key = result.delivery.id
            if key in tables.deliveries and self._db.is_held_by(_KIND, key, holder):
                tables.deliveries[key] = result
                tables.claims[_KIND].pop(key, None)
                if result.is_settled_push:
                    del tables.deliveries[key]
                written = True
        if written:
            tables.add_lines(entries)

    async def get(self, delivery_id: str) -> StoredDelivery | None:
        return self._db.tables().deliveries.get(delivery_id)

    async def page(
        self, *, state: DeliveryState | None, agent: str | None, after: str | None, limit: int
    ) -> Page[StoredDelivery]:
        behind = cursors.parse_cursor("deliveries", after)
        numbered = reversed(list(enumerate(self._db.tables().deliveries.values(), 1)))
        found = (
            (n, stored)
            for n, stored in numbered
            if n < behind and matches((stored.state, stored.delivery.agent), (state, agent))
        )
        return cursors.page("deliveries", found, limit)

    def _first_pending(self) -> list[StoredDelivery]:
        """Return the first pending delivery of each ask, ordered by time."""
        firsts: dict[str, StoredDelivery] = {}
        for stored in self._db.tables().deliveries.values():
            if stored.state is DeliveryState.PENDING:
                firsts.setdefault(stored.delivery.ask_id, stored)
        return sorted(firsts.values(), key=_next_attempt)


def _next_attempt(stored: StoredDelivery) -> float:
    if stored.next_at is None:
        raise AssertionError(f"{stored.delivery.id} is pending and has no time")
    return stored.next_at
