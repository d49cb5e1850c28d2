"""The store: what is kept, and what a change to it is made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask, RecordEntry, Status
from answerback.ports.claims import Claim, Claims, Fence
from answerback.ports.late_answers import LateAnswerStore
from answerback.ports.live_messages import MessageQueries
from answerback.ports.search import AskSearch
from answerback.ports.store_values import (
    Created,
    Delivery,
    DeliveryState,
    Existing,
    Idempotency,
    Page,
    RememberedAnswer,
    StoredDelivery,
    StoredEntry,
)
from answerback.ports.surface import Shown

T = TypeVar("T")


class Write(NamedTuple):
    """What one transaction stores for an ask, all or nothing."""

    ask: Ask
    entries: tuple[RecordEntry, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    memory: RememberedAnswer | None = None
    owed: bool = False
    """Whether the ask has ended with this, and its agent is to be told."""
    claim: Claim | None = None
    """Claims the message together with the change, if it is behind and nobody else holds it."""


class Decision(NamedTuple, Generic[T]):
    """What to store (None: nothing) and what to tell the caller."""

    write: Write | None
    result: T


class Store(MessageQueries, AskSearch, LateAnswerStore, Claims, Protocol):
    """Where asks live. Every write is one durable transaction; every method may raise StoreError."""

    async def open(self) -> None:
        """Opens and migrates; DatabaseTooNewError where a newer Answerback wrote it."""

    async def close(self) -> None:
        """Finishes what is under way and closes."""

    async def last_entry_time(self) -> float | None:
        """When the last line of the record was written, by the clock of then; None: there is none."""

    async def shift_schedule(self, seconds: float, at: float) -> None:
        """Plans anew, once for each ``at``, because the clock was set back by so much to that time.

        Pending deliveries, reminders and escalations come when they would have come; a deadline stays the time that
        people were told.
        """

    async def check(self) -> None:
        """Proves that the store can be read and written; StoreError where it can not."""

    async def create(self, write: Write, idempotency: Idempotency | None) -> Created | Existing:
        """Stores a new ask, or finds the one that this idempotency key stored before."""

    async def find_created(self, idempotency: Idempotency) -> Existing | None:
        """What this idempotency key stored before, or None."""

    async def change(
        self,
        ask_id: str,
        decide: Callable[[Ask | None], Decision[T]],
        *,
        delivery: str | None = None,
        digest: str = "",
        then: Callable[[T], None] | None = None,
        fence: Fence | None = None,
    ) -> tuple[T, bool]:
        """Loads an ask, decides and stores, in one transaction that nobody else's can interleave.

        ``decide`` is pure and quick; it may run on another thread, and may run again if the
        transaction has to be repeated. With ``delivery``, its id is stored with the change, and if
        it had been stored before, nothing is written: it is a repeat, or IdempotencyKeyReusedError where
        it was stored with another ``digest``. ``then`` is told the result once it is
        durable, unless it is such a repeat: on the event loop, and also where the caller has left.
        Returns the result and whether it is a repeat. With ``fence``, LeaseLostError is raised, and nothing
        is written, unless that lease is still held in that epoch.
        """

    async def get(self, ask_id: str) -> Ask | None:
        """An ask, or None."""

    async def erase(self, ask_id: str, at: float, opaque: Collection[str]) -> Ask | None:
        """Erases what was written in an ended ask, everywhere; gives the ask as it then stands, or None.

        What stays is `answerback.core.erasure`'s to say, with ``opaque``. Its request, the lines of its record, its
        deliveries (which are sent no more), drafts, remembered answers, idempotency key and what its agent was still to
        be told are erased in one transaction. An open ask, or one that is erased, stays as it is.
        """

    async def scrub_erased(self) -> None:
        """Has nothing left of what was erased in the store's own files, as far as that is quick."""

    async def list_erasable(self, before: float, limit: int) -> Sequence[str]:
        """Ids of asks that ended before then and are not erased, the first to end first."""

    async def page(
        self,
        *,
        status: Status | None = None,
        surface: str | None = None,
        conversation: str | None = None,
        agent: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[Ask]:
        """Asks, newest first. ``after`` is a cursor that a page gave; a made-up one raises ValueError."""

    async def record(self, ask_id: str, after: int = 0, limit: int = 1000) -> Sequence[StoredEntry]:
        """The record of an ask behind a number, oldest first."""

    async def add_entry(self, ask_id: str | None, entry: RecordEntry) -> None:
        """Adds a line to the record that no change of an ask comes with."""

    async def save_shown(self, ask_id: str, shown: Shown, of: Ask | None = None) -> Ask | None:
        """Notes what the live message shows, by `answerback.ports.message_state.record_shown`; gives the ask with that note.

        ``of`` is the ask as it was when it was shown; without it, as it is now.
        """

    async def next_due(self, after: float) -> float | None:
        """When, later than ``after``, the clock has something to do next (seconds since the epoch), or None."""

    async def get_remembered(
        self, agent: str, conversation: str, turn: str, tool: str, question_id: str
    ) -> tuple[JsonValue] | None:
        """The remembered answer in a tuple of one, or None."""

    async def draft(self, key: str) -> JsonValue:
        """A draft, or None."""

    async def save_draft(self, key: str, value: JsonValue, at: float) -> None:
        """Stores or (None) drops a draft."""

    async def next_delivery(self, after: float = 0.0) -> float | None:
        """When, later than ``after``, the next pending delivery is due, or None."""

    async def save_delivery_results(
        self,
        results: Sequence[StoredDelivery],
        entries: Sequence[tuple[str, RecordEntry]],
        holder: str | None = None,
    ) -> None:
        """Stores what became of deliveries and the record's lines about the tries (with their ask ids).

        Whoever got a delivery has been told of its ask, for good. The claims of the deliveries end. With ``holder``, a
        delivery that another has taken meanwhile stays as it is; where all have been taken, no line is written.
        """

    async def delivery(self, delivery_id: str) -> StoredDelivery | None:
        """One delivery, or None."""

    async def deliveries(
        self, *, state: DeliveryState | None, agent: str | None, after: str | None, limit: int
    ) -> Page[StoredDelivery]:
        """Deliveries, newest first."""

    async def secret(self, name: str) -> bytes:
        """32 random bytes of this name, made once and kept."""

    async def prune(self, before: float) -> int:
        """Forgets delivery ids, idempotency keys, remembered answers and drafts older than that; returns how many.

        So are notes that an agent was told of an ask; what it was not told is kept. The key of an open ask is kept: a
        late repeat must not ask people a second time.
        """

    async def prune_audit(self, before: float) -> int:
        """Forgets the lines of the record that are of no ask and older than that: refused calls; returns how many."""

    async def counts(self) -> Mapping[str, int]:
        """How many asks there are by status, from counters, and deliveries by state."""
