"""The tables of the store in memory, and its claims."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from answerback.core.ask import Ask
from answerback.core.errors import LeaseLostError, StoreError
from answerback.ports.claims import Claim, ClaimKind, Fence
from answerback.ports.store_values import DeliveryState, StoredDelivery, StoredEntry
from answerback_storage.memory.late_answers import LateAnswersTable
from answerback_storage.rate_limit_pauses import RateLimitPauses


@dataclass(slots=True)
class Tables:
    """What is kept, by key and in the order of writing; several stores on the same tables see the same."""

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
    """The holder of each claim, and until when it is one."""
    leases: dict[str, tuple[str, int, float]] = field(default_factory=dict)
    """The holder, the epoch, and until when."""
    late_answers: LateAnswersTable = field(default_factory=LateAnswersTable)
    rate_limit_pauses: RateLimitPauses = field(default_factory=RateLimitPauses)
    listeners: list[tuple[object, Callable[[str | None], None]]] = field(default_factory=list)
    """Whom each store tells of what the others changed."""

    def next_line(self) -> int:
        """The number of the record's next line."""
        return self.record[-1][1].seq + 1 if self.record else 1


class MemoryClaims:
    """The part of `answerback.ports.store.Store` that is about claims, and what opens and closes the tables."""

    def __init__(self, tables: Tables | None = None) -> None:
        self._kept = Tables() if tables is None else tables
        self._open = False

    async def open(self) -> None:
        """See `Store.open`."""
        self._open = True

    async def close(self) -> None:
        """See `Store.close`."""
        self._open = False
        self._kept.listeners = [one for one in self._kept.listeners if one[0] is not self]

    def _tables(self) -> Tables:
        if not self._open:
            raise StoreError("The store is not open.")
        return self._kept

    async def claim_message(self, ask_id: str, claim: Claim) -> Ask | None:
        """See `Claims.claim_message`."""
        ask = self._tables().asks.get(ask_id)
        if ask is None or ask.shown_revision >= ask.revision:
            return ask
        return ask if self._take(ClaimKind.MESSAGE, ask_id, claim) else None

    async def claim_due(self, claim: Claim, now: float, limit: int) -> Sequence[str]:
        """See `Claims.claim_due`."""
        due = [ask_id for when, ask_id in self._due() if when <= now]
        return self._taken(ClaimKind.TIMER, due, claim, limit)

    async def claim_deliveries(
        self, claim: Claim, now: float, limit: int
    ) -> Sequence[StoredDelivery]:
        """See `Claims.claim_deliveries`."""
        held, at = self._tables().claims[ClaimKind.DELIVERY], time.monotonic()
        due = [told.delivery.id for told in self._firsts() if next_attempt_time(told) <= now]
        free = [key for key in due if key not in held or held[key][1] <= at]
        return [
            self._kept.deliveries[key]
            for key in self._taken(ClaimKind.DELIVERY, free, claim, limit)
        ]

    async def renew_delivery(self, delivery_id: str, claim: Claim) -> bool:
        """See `Claims.renew_delivery`."""
        mine = self._holds(ClaimKind.DELIVERY, delivery_id, claim.holder)
        return mine and self._take(ClaimKind.DELIVERY, delivery_id, claim)

    async def release(self, work: ClaimKind, holder: str) -> None:
        """See `Claims.release`."""
        held = self._tables().claims[work]
        for key in [key for key, (whose, _) in held.items() if whose == holder]:
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
        """None: it has no clock of its own."""
        return None

    async def set_retry_after(self, bucket: str, seconds: float) -> None:
        """See `Claims.set_retry_after`."""
        await self._tables().rate_limit_pauses.set_retry_after(bucket, seconds)

    async def get_retry_after(self, bucket: str) -> float:
        """See `Claims.get_retry_after`."""
        return await self._tables().rate_limit_pauses.get_retry_after(bucket)

    def listen(self, heard: Callable[[str | None], None]) -> None:
        """See `Claims.listen`: each store on the same tables is told of what the others change."""
        self._kept.listeners.append((self, heard))

    async def revisions(self, ask_ids: Collection[str]) -> Mapping[str, int]:
        """See `Claims.revisions`."""
        asks = self._tables().asks
        return {key: asks[key].revision for key in ask_ids if key in asks}

    def _take(self, work: ClaimKind, key: str, claim: Claim) -> bool:
        """Claims one thing, unless another holds it."""
        if not self._free(work, key, claim.holder):
            return False
        self._kept.claims[work][key] = (claim.holder, time.monotonic() + claim.seconds)
        return True

    def _free(self, work: ClaimKind, key: str, holder: str | None) -> bool:
        """Whether nobody holds one thing but this holder (None: whoever does)."""
        whose, until = self._kept.claims[work].get(key, (holder, 0.0))
        return holder is None or whose == holder or until <= time.monotonic()

    def _taken(self, work: ClaimKind, keys: Sequence[str], claim: Claim, limit: int) -> list[str]:
        """As many of these as may be, but those that another holds."""
        taken: list[str] = []
        for key in keys:
            if len(taken) < limit and self._take(work, key, claim):
                taken.append(key)
        return taken

    def _holds(self, work: ClaimKind, key: str, holder: str | None) -> bool:
        """Whether this is the holder's (None: whoever's)."""
        return holder is None or self._kept.claims[work].get(key, ("", 0.0))[0] == holder

    def _check_fence(self, fence: Fence | None) -> None:
        if fence is not None:
            _, epoch, until = self._kept.leases.get(fence.lease, ("", 0, 0.0))
            if epoch != fence.epoch or until <= time.monotonic():
                raise LeaseLostError(fence.lease)

    def _keep(self, ask: Ask, claim: Claim | None = None) -> None:
        """Stores an ask, with what that does to claims, and tells the other stores of it."""
        tables = self._kept
        before, tables.asks[ask.id] = tables.asks.get(ask.id), ask
        if before is not None and before.next_due() != ask.next_due():
            tables.claims[ClaimKind.TIMER].pop(ask.id, None)
        if ask.shown_revision >= ask.revision:
            tables.claims[ClaimKind.MESSAGE].pop(ask.id, None)
        elif claim is not None:
            self._take(ClaimKind.MESSAGE, ask.id, claim)
        for store, heard in tables.listeners:
            if store is not self:
                heard(ask.id)

    def _due(self) -> list[tuple[float, str]]:
        asks = self._tables().asks.values()
        return sorted((due, ask.id) for ask in asks if (due := ask.next_due()) is not None)

    def _firsts(self) -> list[StoredDelivery]:
        """The first pending delivery of each ask, by its time."""
        firsts: dict[str, StoredDelivery] = {}
        for told in self._tables().deliveries.values():
            if told.state is DeliveryState.PENDING:
                firsts.setdefault(told.delivery.ask_id, told)
        return sorted(firsts.values(), key=next_attempt_time)


def next_attempt_time(told: StoredDelivery) -> float:
    """When a pending delivery is due."""
    if told.next_at is None:
        raise AssertionError(f"{told.delivery.id} is pending and has no time")
    return told.next_at
