"""Claims: what a second process could also do is claimed in the store, for as long as a lease lasts.

A claim has a holder and ends by itself: a holder that dies is followed by another. Leases are measured by the store's
own clock where it has one. SQLite and the store in memory belong to one process, so they measure them by its
monotonic clock: setting the machine's clock makes no lease longer or shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from answerback.core.ask import Ask
from answerback.ports.store_values import StoredDelivery


class ClaimKind(StrEnum):
    """What is claimed."""

    MESSAGE = "message"
    """Showing an ask: two processes must not race an edit."""
    TIMER = "timer"
    """What an ask's deadline asks for: a reminder, an escalation, an inquiry, its expiry."""
    DELIVERY = "delivery"
    """Sending a webhook."""


class Claim(NamedTuple):
    """Who claims something, and for how many seconds."""

    holder: str
    seconds: float


class Fence(NamedTuple):
    """A named lease and the epoch in which its holder acts."""

    lease: str
    epoch: int


SOLE_CLAIM: Final = Claim("sole", 60.0)
"""The claims of a process that has its store for itself.

The name stays the same, so that a restart takes up at once what was left. The lease is longer than a message may take
to be shown, and a webhook to be taken.
"""
MIN_REMAINING_FRACTION: Final = 0.75
"""The part of a claim that must be left for it to be used as it is: of 60 seconds the 45 that a show may take."""


class Claims(Protocol):
    """The store, as asked by those who share its work. Every method but `listen` may raise StoreError."""

    async def claim_message(self, ask_id: str, claim: Claim) -> Ask | None:
        """The ask, its message claimed; None where there is no such ask, or another holds its message.

        The message of an ask that is not behind cannot be claimed: the ask is returned as it is. A claim ends when
        the message has come to show the ask's state. `answerback.ports.store.Write.claim` claims it together with
        the change, and this then writes nothing.
        """

    async def claim_due(self, claim: Claim, now: float, limit: int) -> Sequence[str]:
        """Ids of asks for which the clock has something to do, earliest first, their timers claimed.

        Those that another holds are left out; those of the same holder are among them, and renewed. A claim ends
        when the ask's next deadline changes.
        """

    async def claim_deliveries(
        self, claim: Claim, now: float, limit: int
    ) -> Sequence[StoredDelivery]:
        """Pending deliveries whose time has come and that nobody holds, oldest first, claimed.

        Of each ask only the first undelivered one can be claimed. A claim ends when `save_delivery_results` tells what became of it.
        """

    async def renew_delivery(self, delivery_id: str, claim: Claim) -> bool:
        """Renews a claim, also one that is over if nobody else has taken it; False: it is not the holder's any more."""

    async def release(self, work: ClaimKind, holder: str) -> None:
        """Gives back everything of a kind that the holder has claimed."""

    async def lease(self, name: str, claim: Claim) -> int | None:
        """Takes or renews the lease of this name: its epoch, or None while another holds it.

        The epoch grows with every new holding, also of the same holder once the lease was over.
        """

    async def release_lease(self, name: str, holder: str) -> None:
        """Ends a lease, if this holder has it: another need not wait until it is over."""

    async def time(self) -> float | None:
        """The time by the store's own clock, in seconds since the epoch; None where it has none but this process's."""

    async def set_retry_after(self, bucket: str, seconds: float) -> None:
        """Notes that a platform takes nothing for a bucket of its rate limits, for so long at least."""

    async def get_retry_after(self, bucket: str) -> float:
        """The seconds for which a bucket still has to be left alone; 0: it need not be."""

    def listen(self, heard: Callable[[str | None], None]) -> None:
        """Has ``heard`` told of each ask that another process changes, on the event loop, until the store closes.

        None instead of an id: news may have been lost, and `revisions` tells what changed meanwhile. A store that
        belongs to one process has nothing to tell: who waits in this process is told of a commit by `change`.
        """

    async def revisions(self, ask_ids: Collection[str]) -> Mapping[str, int]:
        """The revisions of asks, read at once; those that do not exist are left out."""


class SharedClaims(NamedTuple):
    """What this process shares with others: a store, and its name among them."""

    claims: Claims
    holder: str
