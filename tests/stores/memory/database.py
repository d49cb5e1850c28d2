"""The tables of the in-memory store, and who holds what in them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from answerback.core.ask import Ask, RecordEntry
from answerback.core.errors import LeaseLostError, StoreError
from answerback.core.grants import Grant
from answerback.core.people import AccountLink
from answerback.ports.agent_tokens import AgentToken, SignIn
from answerback.ports.claims import Claim, ClaimKind, Fence
from answerback.ports.push import PushSubscription
from answerback.ports.receipts import StoredReceipt
from answerback.ports.store_values import StoredDelivery, StoredEntry
from answerback_storage.sqlite.claims import RateLimitPauses
from tests.stores.memory.late_answers import LateAnswersTable


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
    account_links: dict[str, AccountLink] = field(default_factory=dict)
    push_subscriptions: dict[str, PushSubscription] = field(default_factory=dict)
    sign_ins: dict[str, SignIn] = field(default_factory=dict)
    sign_in_sources: dict[str, str] = field(default_factory=dict)
    agent_tokens: dict[str, AgentToken] = field(default_factory=dict)
    deliveries: dict[str, StoredDelivery] = field(default_factory=dict)
    secrets: dict[str, bytes] = field(default_factory=dict)
    claims: dict[ClaimKind, dict[str, tuple[str, float]]] = field(
        default_factory=lambda: {work: {} for work in ClaimKind}
    )
    """The holder of each claim, and when the claim ends."""
    leases: dict[str, tuple[str, int, float]] = field(default_factory=dict)
    """The holder, the epoch, and when the lease ends."""
    receipts: dict[str, StoredReceipt] = field(default_factory=dict)
    receipt_keys: list[str] = field(default_factory=list)
    grants: dict[str, Grant] = field(default_factory=dict)
    late_answers: LateAnswersTable = field(default_factory=LateAnswersTable)
    rate_limit_pauses: RateLimitPauses = field(default_factory=RateLimitPauses)
    listeners: list[tuple[object, Callable[[str | None], None]]] = field(default_factory=list)
    """The callbacks through which each store learns what the others changed."""

    def add_lines(self, entries: Iterable[tuple[str | None, RecordEntry]]) -> None:
        """Append entries to the record, each for an ask or (None) for none."""
        for ask_id, entry in entries:
            seq = self.record[-1][1].seq + 1 if self.record else 1
            self.record.append((ask_id, StoredEntry(seq, entry)))

    def iter_newest_first(self, before: int) -> Iterator[tuple[int, Ask]]:
        """Yield the asks before a number and their numbers, newest first."""
        for ask_id, number in reversed(self.numbers.items()):
            if number < before:
                yield number, self.asks[ask_id]


class MemoryDatabase:
    """One process's view of the tables, which it may share with others."""

    def __init__(self, tables: Tables) -> None:
        self.shared_tables = tables
        self.is_open = False

    def close(self) -> None:
        """Forget the process's listeners, and refuse all further work."""
        self.is_open = False
        listeners = self.shared_tables.listeners
        self.shared_tables.listeners = [entry for entry in listeners if entry[0] is not self]

    def tables(self) -> Tables:
        """Return the tables, or raise StoreError if the store is not open."""
        if not self.is_open:
            raise StoreError("The store is not open.")
        return self.shared_tables

    def save(self, ask: Ask, claim: Claim | None = None) -> None:
        """Store an ask, update its claims, and notify the other stores."""
        tables = self.shared_tables
        before, tables.asks[ask.id] = tables.asks.get(ask.id), ask
        if before is not None and before.next_due() != ask.next_due():
            tables.claims[ClaimKind.TIMER].pop(ask.id, None)
        if ask.shown_revision >= ask.revision:
            tables.claims[ClaimKind.MESSAGE].pop(ask.id, None)
        elif claim is not None:
            self.try_claim(ClaimKind.MESSAGE, ask.id, claim)
        self.notify_others(ask.id)

    def notify_others(self, name: str) -> None:
        """Call the listeners of the other stores."""
        for database, callback in self.shared_tables.listeners:
            if database is not self:
                callback(name)

    def try_claim(self, work: ClaimKind, key: str, claim: Claim) -> bool:
        """Claim one item, unless another holder has it."""
        if not self.is_free(work, key, claim.holder):
            return False
        self.shared_tables.claims[work][key] = (claim.holder, time.monotonic() + claim.seconds)
        return True

    def is_free(self, work: ClaimKind, key: str, holder: str | None) -> bool:
        """Return whether no other holder has this item (``holder`` None: return True)."""
        current_holder, until = self.shared_tables.claims[work].get(key, (holder, 0.0))
        return holder is None or current_holder == holder or until <= time.monotonic()

    def claim_up_to(
        self, work: ClaimKind, keys: Sequence[str], claim: Claim, limit: int
    ) -> list[str]:
        """Claim up to ``limit`` of these items, skipping those that another holder has."""
        taken: list[str] = []
        for key in keys:
            if len(taken) < limit and self.try_claim(work, key, claim):
                taken.append(key)
        return taken

    def is_held_by(self, work: ClaimKind, key: str, holder: str | None) -> bool:
        """Return whether this holder has the item (``holder`` None: return True)."""
        return holder is None or self.shared_tables.claims[work].get(key, ("", 0.0))[0] == holder

    def release(self, work: ClaimKind, holder: str) -> None:
        """Release everything of a kind that the holder has claimed."""
        held = self.tables().claims[work]
        for key in [key for key, (current_holder, _) in held.items() if current_holder == holder]:
            del held[key]

    def check_fence(self, fence: Fence | None) -> None:
        """Raise LeaseLostError unless the lease is held in that epoch."""
        if fence is not None:
            _, epoch, until = self.shared_tables.leases.get(fence.lease, ("", 0, 0.0))
            if epoch != fence.epoch or until <= time.monotonic():
                raise LeaseLostError(fence.lease)
