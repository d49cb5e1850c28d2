"""The tables of the in-memory store, and its claims."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from answerback.core.ask import Ask
from answerback.core.errors import LeaseLostError, StoreError
from answerback.ports.claims import Claim, ClaimKind, Fence
from answerback.ports.store_values import DeliveryState, StoredDelivery, StoredEntry
from answerback.testing.memory_store.late_answers import LateAnswersTable
from answerback_storage.rate_limit_pauses import RateLimitPauses


@dataclass(slots=True)
class Tables:
    """The stored data, by key and in insertion order. Several stores can share one set of tables."""

    asks: dict[str, Ask] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    record: list[tuple[str | None, StoredEntry]] = field(default_factory=list)
    seen: dict[str, tuple[float, str]] = field(default_factory=dict)
    keys: dict[tuple[str, str], tuple[str, str, float]] = field(default_factory=dict)
    """Idempotency keys: the digest, the ask and the time."""
    remembered: dict[tuple[str, ...], tuple[str, float]] = field(default_factory=dict)
    drafts: dict[str, tuple[str, float]] = field(default_factory=dict)
    deliveries: dict[str, StoredDelivery] = field(default_factory=dict)
    secrets: dict[str, bytes] = field(default_factory=dict)
    claims: dict[ClaimKind, dict[str, tuple[str, float]]] = field(
        default_factory=lambda: {work: {} for work in ClaimKind}
    )
    """The holder of each claim, and when the claim ends."""
    leases: dict[str, tuple[str, int, float]] = field(default_factory=dict)
    """The holder, the epoch, and when the lease ends."""
    late_answers: LateAnswersTable = field(default_factory=LateAnswersTable)
    rate_limit_pauses: RateLimitPauses = field(default_factory=RateLimitPauses)
    listeners: list[tuple[object, Callable[[str | None], None]]] = field(default_factory=list)
    """The callbacks through which each store learns what the others changed."""

    def next_line(self) -> int:
        """Return the number of the record's next line."""
        return self.record[-1][1].seq + 1 if self.record else 1


class MemoryClaims:
    """The claims of `answerback.ports.store.Store`, and opening and closing the tables."""

    def __init__(self, tables: Tables | None = None) -> None:
        self._shared_tables = Tables() if tables is None else tables
        self._open = False

    async def open(self) -> None:
        """See `Store.open`."""
        self._open = True

    async def close(self) -> None:
        """See `Store.close`."""
        self._open = False
        self._shared_tables.listeners = [
            entry for entry in self._shared_tables.listeners if entry[0] is not self
        ]

    def _tables(self) -> Tables:
        if not self._open:
            raise StoreError("The store is not open.")
        return self._shared_tables

    async def claim_message(self, ask_id: str, claim: Claim) -> Ask | None:
        """See `Claims.claim_message`."""
        ask = self._tables().asks.get(ask_id)
        if ask is None or ask.shown_revision >= ask.revision:
            return ask
        return ask if self._try_claim(ClaimKind.MESSAGE, ask_id, claim) else None

    async def claim_due(self, claim: Claim, now: float, limit: int) -> Sequence[str]:
        """See `Claims.claim_due`."""
        due = [ask_id for when, ask_id in self._due_asks() if when <= now]
        return self._claim_up_to(ClaimKind.TIMER, due, claim, limit)

    async def claim_deliveries(
        self, claim: Claim, now: float, limit: int
    ) -> Sequence[StoredDelivery]:
        """See `Claims.claim_deliveries`."""
        held, at = self._tables().claims[ClaimKind.DELIVERY], time.monotonic()
        due = [
            stored.delivery.id
            for stored in self._first_pending()
            if next_attempt_time(stored) <= now
        ]
        free = [key for key in due if key not in held or held[key][1] <= at]
        return [
            self._shared_tables.deliveries[key]
            for key in self._claim_up_to(ClaimKind.DELIVERY, free, claim, limit)
        ]

    async def renew_delivery(self, delivery_id: str, claim: Claim) -> bool:
        """See `Claims.renew_delivery`."""
        held = self._is_held_by(ClaimKind.DELIVERY, delivery_id, claim.holder)
        return held and self._try_claim(ClaimKind.DELIVERY, delivery_id, claim)

    async def release(self, work: ClaimKind, holder: str) -> None:
        """See `Claims.release`."""
        held = self._tables().claims[work]
        for key in [key for key, (current_holder, _) in held.items() if current_holder == holder]:
            del held[key]

    async def lease(self, name: str, claim: Claim) -> int | None:
        """See `Claims.lease`."""
        leases, now = self._tables().leases, time.monotonic()
        holder, epoch, until = leases.get(name, (claim.holder, 0, 0.0))
        if until > now and holder != claim.holder:
            return None
        epoch += until <= now
        leases[name] = (claim.holder, epoch, now + claim.seconds)
        return epoch

    async def release_lease(self, name: str, holder: str) -> None:
        """See `Claims.release_lease`."""
        leases = self._tables().leases
        if name in leases and leases[name][0] == holder:
            leases[name] = (*leases[name][:2], 0.0)

    async def time(self) -> float | None:
        """Return None: the store has no clock of its own."""
        return None

    async def set_retry_after(self, bucket: str, seconds: float) -> None:
        """See `Claims.set_retry_after`."""
        await self._tables().rate_limit_pauses.set_retry_after(bucket, seconds)

    async def get_retry_after(self, bucket: str) -> float:
        """See `Claims.get_retry_after`."""
        return await self._tables().rate_limit_pauses.get_retry_after(bucket)

    def listen(self, callback: Callable[[str | None], None]) -> None:
        """See `Claims.listen`. Each store is notified of what other stores change in the same tables."""
        self._shared_tables.listeners.append((self, callback))

    async def revisions(self, ask_ids: Collection[str]) -> Mapping[str, int]:
        """See `Claims.revisions`."""
        asks = self._tables().asks
        return {key: asks[key].revision for key in ask_ids if key in asks}

    def _try_claim(self, work: ClaimKind, key: str, claim: Claim) -> bool:
        """Claim one item, unless another holder has it."""
        if not self._is_free(work, key, claim.holder):
            return False
        self._shared_tables.claims[work][key] = (claim.holder, time.monotonic() + claim.seconds)
        return True

    def _is_free(self, work: ClaimKind, key: str, holder: str | None) -> bool:
        """Return whether no other holder has this item (``holder`` None: return True)."""
        current_holder, until = self._shared_tables.claims[work].get(key, (holder, 0.0))
        return holder is None or current_holder == holder or until <= time.monotonic()

    def _claim_up_to(
        self, work: ClaimKind, keys: Sequence[str], claim: Claim, limit: int
    ) -> list[str]:
        """Claim up to ``limit`` of these items, skipping those that another holder has."""
        taken: list[str] = []
        for key in keys:
            if len(taken) < limit and self._try_claim(work, key, claim):
                taken.append(key)
        return taken

    def _is_held_by(self, work: ClaimKind, key: str, holder: str | None) -> bool:
        """Return whether this holder has the item (``holder`` None: return True)."""
        return holder is None or self._shared_tables.claims[work].get(key, ("", 0.0))[0] == holder

    def _check_fence(self, fence: Fence | None) -> None:
        if fence is not None:
            _, epoch, until = self._shared_tables.leases.get(fence.lease, ("", 0, 0.0))
            if epoch != fence.epoch or until <= time.monotonic():
                raise LeaseLostError(fence.lease)

    def _save(self, ask: Ask, claim: Claim | None = None) -> None:
        """Store an ask, update its claims, and notify the other stores."""
        tables = self._shared_tables
        before, tables.asks[ask.id] = tables.asks.get(ask.id), ask
        if before is not None and before.next_due() != ask.next_due():
            tables.claims[ClaimKind.TIMER].pop(ask.id, None)
        if ask.shown_revision >= ask.revision:
            tables.claims[ClaimKind.MESSAGE].pop(ask.id, None)
        elif claim is not None:
            self._try_claim(ClaimKind.MESSAGE, ask.id, claim)
        for store, callback in tables.listeners:
            if store is not self:
                callback(ask.id)

    def _due_asks(self) -> list[tuple[float, str]]:
        asks = self._tables().asks.values()
        return sorted((due, ask.id) for ask in asks if (due := ask.next_due()) is not None)

    def _first_pending(self) -> list[StoredDelivery]:
        """Return the first pending delivery of each ask, ordered by time."""
        firsts: dict[str, StoredDelivery] = {}
        for stored in self._tables().deliveries.values():
            if stored.state is DeliveryState.PENDING:
                firsts.setdefault(stored.delivery.ask_id, stored)
        return sorted(firsts.values(), key=next_attempt_time)


def next_attempt_time(stored: StoredDelivery) -> float:
    """Return when a pending delivery is due."""
    if stored.next_at is None:
        raise AssertionError(f"{stored.delivery.id} is pending and has no time")
    return stored.next_at
