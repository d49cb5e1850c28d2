"""What processes share their work by, in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence

from answerback.core.ask import Ask
from answerback.ports.claims import Claim, ClaimKind, Claims, Leases, RemoteChanges
from answerback_storage.sql_database import Part
from tests.stores.memory.database import MemoryDatabase


class MemoryClaims(Part[MemoryDatabase], Claims):
    """Claims in memory."""

    async def claim_message(self, ask_id: str, claim: Claim) -> Ask | None:
        ask = self._db.tables().asks.get(ask_id)
        if ask is None or ask.shown_revision >= ask.revision:
            return ask
        return ask if self._db.try_claim(ClaimKind.MESSAGE, ask_id, claim) else None

    async def claim_due(self, claim: Claim, now: float, limit: int) -> Sequence[str]:
        due = [ask_id for when, ask_id in self._due_asks() if when <= now]
        return self._db.claim_up_to(ClaimKind.TIMER, due, claim, limit)

    async def next_due(self, after: float) -> float | None:
        return next((when for when, _ in self._due_asks() if when > after), None)

    def _due_asks(self) -> list[tuple[float, str]]:
        asks = self._db.tables().asks.values()
        return sorted((due, ask.id) for ask in asks if (due := ask.next_due()) is not None)

    async def release_messages(self, holder: str) -> None:
        self._db.release(ClaimKind.MESSAGE, holder)

    async def release_timers(self, holder: str) -> None:
        self._db.release(ClaimKind.TIMER, holder)


class MemoryLeases(Part[MemoryDatabase], Leases):
    """Leases in memory."""

    async def take(self, name: str, claim: Claim) -> int | None:
        leases, now = self._db.tables().leases, time.monotonic()
        holder, epoch, until = leases.get(name, (claim.holder, 0, 0.0))
        if until > now and holder != claim.holder:
            return None
        epoch += until <= now
        leases[name] = (claim.holder, epoch, now + claim.seconds)
        return epoch

    async def release(self, name: str, holder: str) -> None:
        leases = self._db.tables().leases
        if name in leases and leases[name][0] == holder:
            leases[name] = (*leases[name][:2], 0.0)


class MemoryRemoteChanges(Part[MemoryDatabase], RemoteChanges):
    """Each store is notified of what other stores change in the same tables."""

    def listen(self, callback: Callable[[str | None], None]) -> None:
        self._db.shared_tables.listeners.append((self._db, callback))

    def announce(self, name: str) -> None:
        self._db.notify_others(name)

    async def revisions(self, ask_ids: Collection[str]) -> Mapping[str, int]:
        asks = self._db.tables().asks
        return {key: asks[key].revision for key in ask_ids if key in asks}

    async def time(self) -> None:
        """Return None: the store has no clock of its own."""
