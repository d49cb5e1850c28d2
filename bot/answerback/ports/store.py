"""The store: what is kept, in parts, and what a change to it consists of.

Code that needs one part depends on that part alone. Proved by `answerback_testing.store_contract`, a class of tests
that every store's own tests inherit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask, RecordEntry, Status
from answerback.core.errors import UnreadableRowError
from answerback.core.grants import Grant, GrantChange
from answerback.core.sent_files import FileChanges
from answerback.ports.claims import Claim, Claims, Fence, Leases, RateLimits, RemoteChanges
from answerback.ports.extension_rows import AskRow, NewRow, RowStore
from answerback.ports.files import FileStore
from answerback.ports.late_answers import LateAnswerStore, SeenState
from answerback.ports.live_messages import MessageQueries
from answerback.ports.search import AskSearch
from answerback.ports.store_values import (
    NO_LIMITS,
    AskLimits,
    ChangedAsks,
    CreateResult,
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
    """The changes of one ask that a transaction stores, all or nothing."""

    ask: Ask
    entries: tuple[RecordEntry, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    memory: RememberedAnswer | None = None
    owed: bool = False
    """True if the ask's outcome, or what a person has said since, is to be reported to its agent."""
    claim: Claim | None = None
    """Claims the message together with the change, if it is outdated and no other process holds it."""
    grant: GrantChange | None = None
    """The change of a grant. Only a new ask uses one."""
    seen_state: SeenState | None = None
    """The part of its debt that the agent has seen, since the ask's ``read_by_agent_at``; None: as before."""
    rows: tuple[NewRow, ...] = ()
    """The rows that extensions store with the change."""
    ask_rows: tuple[AskRow, ...] = ()
    files: FileChanges | None = None
    """The files of answers that it claims, and those that are deleted with it; None: none."""


class Decision(NamedTuple, Generic[T]):
    """A decision: the changes to store (None: nothing) and the value to return to the caller."""

    write: Write | None
    result: T


class AskStore(Protocol):
    """The asks themselves."""

    async def create(
        self, write: Write, idempotency: Idempotency | None, limits: AskLimits = NO_LIMITS
    ) -> CreateResult:
        """Store a new ask, or find the one that this idempotency key stored before.

        Nothing is stored beyond the limits of the ask's agent, even if several processes create its asks at once, nor
        if it uses a grant that cannot be used any more or of which that is not the next use, nor if a file that it
        claims is not there any more. Time is that of the new ask.
        """

    async def find_created(self, idempotency: Idempotency) -> Existing | None:
        """The ask that this idempotency key stored before, or None."""

    async def change(
        self,
        ask_id: str,
        decide: Callable[[Ask | None], Decision[T]],
        *,
        delivery: str | None = None,
        digest: str = "",
        then: Callable[[T], None] | None = None,
        fence: Fence | None = None,
        within: float = 0.0,
    ) -> tuple[T, bool]:
        """Load an ask, decide and store, in one transaction that no other can interleave with.

        ``decide`` is pure and quick; it may run on another thread, and again if the transaction has to be repeated.
        With ``delivery``, the delivery's id is stored with the change. If the id was already stored, nothing is
        written: the call is a repeat, or raises IdempotencyKeyReusedError if it was stored with another ``digest``.
        ``then`` is called with the result once that is durable, unless it is a repeat: on the event loop, and even if
        the caller has gone. Returns the result and whether it is a repeat. With ``fence``, LeaseLostError is raised and
        nothing is written unless that lease is still held in that epoch. ``within`` is how many seconds the change may
        wait to be committed together with another one. StoreError: a file that it claims is not there any more.
        """

    async def get(self, ask_id: str) -> Ask | None:
        """An ask as last stored; None if its id is unknown."""

    async def changed_columns(self, ask: Ask) -> Sequence[str]:
        """The columns that say otherwise than an ask, of those that decide who finds it and its answer."""

    async def page(
        self,
        *,
        status: Status | None = None,
        surface: str | None = None,
        conversation: str | None = None,
        agent: str | None = None,
        after: str | None = None,
        limit: int = 50,
        by_urgency: bool = False,
    ) -> Page[Ask]:
        """Asks, newest first. ``after`` is a cursor from an earlier page; an invalid one raises ValueError.

        With ``by_urgency``, only open ones, the most urgent first, and then those that were asked first.
        """

    async def save_shown(self, ask_id: str, shown: Shown, of: Ask | None = None) -> Ask | None:
        """Note what the live message shows, by `answerback.ports.message_state.record_shown`; return the ask after
        that.

        ``of`` is the ask as it was when it was shown; the default is its current state.
        """

    async def get_remembered(
        self, agent: str, conversation: str, turn: str, tool: str, question: str
    ) -> tuple[JsonValue] | None:
        """The remembered answer in a tuple of one, or None."""


async def get_readable(asks: AskStore, ask_id: str) -> Ask | None:
    """Return an ask as last stored; None if its id is unknown, or if this version cannot read its row."""
    try:
        return await asks.get(ask_id)
    except UnreadableRowError:
        return None


class Record(Protocol):
    """The record of each ask, line by line. Most lines are stored with a change of an ask; see `Write.entries`."""

    async def read(self, ask_id: str, after: int = 0, limit: int = 1000) -> Sequence[StoredEntry]:
        """An ask's record after a given number, oldest first."""

    async def list_changed(self, after: str, limit: int) -> ChangedAsks:
        """The asks of the next lines, each once, in an order in which no line appears before a cursor afterwards.

        ``after`` is the cursor of an earlier call, or empty: from the first line. ValueError if this database has not
        issued it.
        """

    async def add(self, ask_id: str | None, entry: RecordEntry) -> None:
        """Add a line that does not belong to a change of an ask."""

    async def last_time(self) -> float | None:
        """Return the time of the last line, or the later one that `Maintenance.note_time` noted; None if there is
        neither."""


class Outbox(Protocol):
    """The webhooks and pushes to send, stored with the changes that they report (`Write.deliveries`), and their
    progress."""

    async def claim(self, claim: Claim, now: float, limit: int) -> Sequence[StoredDelivery]:
        """Claim due pending deliveries that no process holds and return them, oldest first.

        Only the first undelivered one of each ask can be claimed. A claim ends when `save_results` stores the result.
        """

    async def renew(self, delivery_id: str, claim: Claim) -> bool:
        """Renew a claim, even an expired one that no other process has taken; False if the holder has lost it."""

    async def release(self, holder: str) -> None:
        """Release every delivery that the holder has claimed."""

    async def next_due(self, after: float = 0.0) -> float | None:
        """Return the time at which the next pending delivery after ``after`` is due, or None."""

    async def save_results(
        self,
        results: Sequence[StoredDelivery],
        entries: Sequence[tuple[str, RecordEntry]],
        holder: str | None = None,
    ) -> None:
        """Store the results of deliveries and the record's lines about the attempts (with their ask ids).

        A delivered ask counts as seen by its agent, for good; a push that is over is removed. The claims of the
        deliveries end. With ``holder``, a delivery that another has claimed in the meantime is left alone; if all have
        been claimed, no line is written.
        """

    async def get(self, delivery_id: str) -> StoredDelivery | None:
        """A delivery in any state; None if its id is unknown."""

    async def page(
        self, *, state: DeliveryState | None, agent: str | None, after: str | None, limit: int
    ) -> Page[StoredDelivery]:
        """Deliveries, newest first. ``after`` is a cursor from an earlier page; an invalid one raises ValueError."""


class Drafts(Protocol):
    """Values that are kept for a while, or for an ask, under keys of their owners' choice."""

    async def get(self, key: str) -> JsonValue:
        """The value that was last saved; None if it was dropped, or is too old."""

    async def save(self, key: str, value: JsonValue, at: float, ask_id: str = "") -> None:
        """Store or (with None) drop a draft.

        It is about the ask whose id, between colons, is in its key: an erasure of that ask drops it. If there is none,
        it is about ``ask_id``, whose erasure it survives; empty: about no ask.
        """

    async def change(
        self, key: str, change: Callable[[JsonValue], JsonValue], at: float
    ) -> JsonValue:
        """Replace a draft with what ``change`` makes of it, and return that; None drops it.

        Of changes at the same time, in this process or another, none is lost: ``change`` may be called again.
        """


class Erasure(Protocol):
    """Erases what people and agents wrote."""

    async def erase(self, ask_id: str, at: float, opaque: Collection[str]) -> Ask | None:
        """Erase what was written in an ended ask, everywhere; return the ask after that, or None.

        `answerback.core.erasure` decides what stays, with ``opaque``. One transaction erases the ask's request, the
        lines of its record, its webhooks and pushes (which are no longer sent), drafts, remembered answers, its
        idempotency key, its files, what stands beside its receipt, the grant made with it, and the late answer that its
        agent has not seen. An open or already erased ask stays as it is.
        """

    async def scrub(self) -> None:
        """Remove all traces of erased data from the store's own files, as far as that is quick."""

    async def list_erasable(self, before: float, limit: int) -> Sequence[str]:
        """Ids of asks that ended before then and have not been erased, first to end first."""


class GrantStore(Protocol):
    """The grants that people have made. They are made, used and revoked with the changes of asks: see `Write.grant`."""

    async def find(self, scopes: Collection[str]) -> Sequence[Grant]:
        """The grants for these scopes that were not revoked and are not used up, those that end first first."""

    async def get(self, grant_id: str) -> Grant | None:
        """A grant, even one that has ended; None if its id is unknown."""

    async def newest(self, limit: int) -> Sequence[Grant]:
        """The newest grants, newest first."""


class Maintenance(Protocol):
    """The work that is done from time to time."""

    async def prune(self, before: float) -> int:
        """Delete delivery ids, idempotency keys, remembered answers and drafts older than that; return how many.

        So are grants and sign-ins, and the tokens of agents that ended before then.

        Notes that an agent has seen an outcome are deleted, too; outcomes that it has not seen are kept. The keys and
        drafts of an ask are kept as long as it is open, or was changed since then: a late repeat must not ask people a
        second time, and drafts name messages that have yet to say how it ended.
        """

    async def prune_audit(self, before: float) -> int:
        """Delete record lines about refused calls, which belong to no ask, if older than that; return how many."""

    async def prune_deliveries(self, before: float) -> int:
        """Delete webhooks that were delivered or given up before then; return how many."""

    async def note_time(self, at: float) -> None:
        """Keep the latest time while there are grants that might still be used then: none of them counts earlier."""

    async def shift_schedule(self, seconds: float, at: float) -> None:
        """Reschedule, once for each ``at``, because the clock was set back by this many seconds to that time.

        Pending deliveries, reminders and escalations happen when they would have happened anyway; a deadline stays at
        the time that was announced. All grants and sign-ins end: nobody knows how long they have been valid. Tokens of
        agents end that much earlier.
        """


class Store(Protocol):
    """Where asks are stored, in parts. Every write is one durable transaction; every method may raise StoreError."""

    asks: AskStore
    messages: MessageQueries
    search: AskSearch
    record: Record
    grants: GrantStore
    late_answers: LateAnswerStore
    outbox: Outbox
    claims: Claims
    leases: Leases
    rate_limits: RateLimits
    changes: RemoteChanges
    drafts: Drafts
    rows: RowStore
    files: FileStore
    erasure: Erasure
    maintenance: Maintenance

    async def open(self) -> None:
        """Open and migrate; DatabaseTooNewError if a newer Answerback wrote it."""

    async def close(self) -> None:
        """Finish what is in progress and close."""

    async def check(self) -> None:
        """Prove that the store can be read and written; StoreError if it cannot."""

    async def secret(self, name: str) -> bytes:
        """The 32 random bytes of this name, generated once and kept."""

    async def counts(self) -> Mapping[str, int]:
        """The number of asks by status, from counters, and of webhooks by state."""

    async def oldest_open(self) -> Mapping[str, float]:
        """Return when the open ask of each route that was stored first began to wait, without what the clock was set
        back; "": no route."""
