"""Claims: work that a second process could also do is claimed in the store for the length of a lease.

A claim has a holder and expires: when a holder dies, another can take over. Leases are measured by the store's own
clock if it has one. An SQLite file belongs to one process, so it uses that process's monotonic clock: setting the
machine's clock makes no lease longer or shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from answerback.core.ask import Ask


class ClaimKind(StrEnum):
    """The kind of work that is claimed."""

    MESSAGE = "message"
    """Showing an ask: two processes must not race to edit its message."""
    TIMER = "timer"
    """Whatever is due at an ask's next deadline: a reminder, an escalation, an inquiry or its expiry."""
    DELIVERY = "delivery"
    """Sending a webhook."""


class Claim(NamedTuple):
    """A claim's holder and its length in seconds."""

    holder: str
    seconds: float


class Fence(NamedTuple):
    """A named lease and the epoch in which its holder acts."""

    lease: str
    epoch: int


SOLE_CLAIM: Final = Claim("sole", 60.0)
"""The claim of a process that has its store to itself.

The name is constant, so that a restarted process immediately resumes the work of the previous one. The lease is longer
than it may take to show a message or to send a webhook.
"""
MIN_REMAINING_FRACTION: Final = 0.75
"""The fraction of a claim that must remain for it to be used without renewal: of 60 seconds, the 45 that a show may
take."""


class Claims(Protocol):
    """The claims on showing asks and on their timers. `answerback.ports.store.Outbox` has those on deliveries."""

    async def claim_message(self, ask_id: str, claim: Claim) -> Ask | None:
        """Claim an ask's message and return the ask; None if there is no such ask or another holder has its message.

        If the message already shows the ask's current state, there is nothing to claim and the ask is returned
        unchanged. The claim ends once the message shows the ask's state. `answerback.ports.store.Write.claim` claims
        the message together with a change; this call then writes nothing.
        """

    async def claim_due(self, claim: Claim, now: float, limit: int) -> Sequence[str]:
        """Claim the timers of due asks and return the asks' ids, earliest first.

        Timers of other holders are left out; those that this holder already has are included and renewed. A claim ends
        when the ask's next deadline changes.
        """

    async def next_due(self, after: float) -> float | None:
        """Return the time at which the next timer after ``after`` is due (seconds since the epoch), or None."""

    async def release_messages(self, holder: str) -> None:
        """End every claim of the holder on a message, so that others need not wait until it runs out."""

    async def release_timers(self, holder: str) -> None:
        """End every claim of the holder on a timer."""


class Leases(Protocol):
    """Named leases, each held by one process at a time."""

    async def take(self, name: str, claim: Claim) -> int | None:
        """Take or renew the lease of this name; return its epoch, or None while another holds it.

        The epoch increases each time the lease is taken, even by the same holder after it had expired.
        """

    async def release(self, name: str, holder: str) -> None:
        """End a lease if this holder has it, so that another need not wait for it to expire."""


class RateLimits(Protocol):
    """The pauses that platforms' rate limits ask for."""

    async def set_retry_after(self, bucket: str, seconds: float) -> None:
        """Note that a platform accepts nothing for a rate-limit bucket for at least this many seconds."""

    async def get_retry_after(self, bucket: str) -> float:
        """The seconds for which a bucket must still be left alone; 0 if it need not be."""


class RemoteChanges(Protocol):
    """A source of the changes that other processes with the same store make."""

    def listen(self, callback: Callable[[str | None], None]) -> None:
        """Call ``callback``, on the event loop, with each ask that another process changes, until the store closes.

        An id of None means that notifications may have been lost; `revisions` shows what has changed in the meantime. A
        store that belongs to one process sends no notifications: callers in this process learn of a commit from
        `answerback.ports.store.AskStore.change`.
        """

    def announce(self, name: str) -> None:
        """Soon call the other processes' callbacks with a name that is not an ask's id. It may be lost."""

    async def revisions(self, ask_ids: Collection[str]) -> Mapping[str, int]:
        """The revisions of several asks, read together; asks that do not exist are left out."""

    async def time(self) -> float | None:
        """The store's own clock, in seconds since the epoch; None if it has none other than this process's."""


class SharedLeases(NamedTuple):
    """The parts that this process shares with others: the store's leases, and its own name as a holder."""

    leases: Leases
    holder: str
