"""The protocols between the service and the world: surfaces, stores, the inquiry backend, the clock.

Adapters and stores know these and nothing above them. The service is handed to an adapter as `Asks`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, NamedTuple, Protocol, TypeVar

from pydantic import JsonValue

from bot.ask import Ask, Destination, Entry, Status, Thread
from bot.errors import Problem
from bot.form import Question
from bot.places import Found, Places
from bot.stored import (
    Created,
    Delivery,
    DeliveryState,
    Existing,
    Idempotency,
    Memory,
    Page,
    StoredDelivery,
    StoredEntry,
)
from bot.walker import Action, Person

T = TypeVar("T")


class Clock(Protocol):
    """Tells the time; tests move it."""

    def now(self) -> float:
        """Seconds since the epoch, UTC; whoever sets the machine's clock moves it."""

    def monotonic(self) -> float:
        """Seconds since some moment: for what is over after a while, whatever the clock says."""

    async def sleep_until(self, when: float) -> None:
        """Returns once ``now()`` has reached ``when``, or the clock was set back meanwhile."""


class Actor(NamedTuple):
    """Somebody who acts: the person and the groups (user groups, roles) they are known to be in.

    ``groups_known`` are the groups that were looked up; membership in another one is still open.
    """

    person: Person
    groups: frozenset[str] = frozenset()
    groups_known: frozenset[str] = frozenset()
    all_groups: bool = False
    """Whether ``groups`` are all there are, so that none is to be looked up."""


class Why(StrEnum):
    """Why an action changed nothing."""

    NOT_FOUND = "not_found"
    NOT_ALLOWED = "not_allowed"
    UNCHECKED = "unchecked"
    """Whether this person may act could not be found out now."""
    STALE = "stale"
    ENDED = "ended"
    INVALID = "invalid"


class Acted(NamedTuple):
    """The action counted: the ask as it stands now. ``repeated``: this delivery had been counted before."""

    ask: Ask
    repeated: bool = False


class Rejected(NamedTuple):
    """The action changed nothing; ``ask`` is the ask as it stands (None when there is none of this id)."""

    why: Why
    ask: Ask | None = None
    problems: tuple[Problem, ...] = ()


class Following(Protocol):
    """Waits for commits; nothing is kept of it once it is left."""

    async def changed(self) -> Ask | None:
        """Returns after the next commit, with the ask; None when the process is stopping."""


class Asks(Places, Protocol):
    """The service, as adapters see it. Every method commits before it returns."""

    async def act(
        self,
        ask_id: str,
        action: Action,
        actor: Actor,
        *,
        revision: int | None = None,
        delivery: str | None = None,
        at: float | None = None,
    ) -> Acted | Rejected:
        """Acts on an ask as a responder.

        Args:
            revision: the revision the person saw; another one is `Why.STALE`.
            delivery: the platform's id of this delivery; the same one again is `Acted(repeated=True)`.
            at: when they acted, by the platform's clock.

        Raises:
            StoreError: nothing is known to be saved; tell the person to try again.
        """

    async def choose(
        self,
        ask_id: str,
        choose: Callable[[Ask], Action | None],
        actor: Actor,
        *,
        revision: int | None = None,
        delivery: str | None = None,
        at: float | None = None,
    ) -> Acted | Rejected | None:
        """`act` with what ``choose`` makes of the ask as it stands, in one step; None where it makes nothing.

        ``choose`` is pure and quick, runs only when this person may act on this revision, and may
        run on another thread, and twice.
        """

    async def typed(
        self,
        ask_id: str,
        text: str,
        actor: Actor,
        *,
        at: float | None,
        delivery: str,
        revision: int | None = None,
    ) -> Acted | Rejected:
        """`act` with what typed words stand for. A problem tells the person what to do where they stand for nothing
        (`Why.INVALID`) or may be older than the open question (`Why.STALE`; ``at`` None: nobody knows when)."""

    async def get(self, ask_id: str) -> Ask | None:
        """The ask as it stands, or None."""

    async def open_in(self, surface: str, channel: str, thread: str | None) -> Sequence[Ask]:
        """The open asks shown in a thread (``thread`` None: anywhere in the channel), newest first, ten at the most."""

    async def inbox(self, surface: str, after: str | None, limit: int) -> Page[Ask]:
        """The open asks of a surface, newest first; ``after`` as in `Store.page`."""

    def follow(self, what: str) -> AbstractContextManager[Following]:
        """Follows the commits to one ask (its id), or to every ask of a surface (its name)."""

    async def draft(self, key: str) -> JsonValue:
        """What a person has entered so far in a form of several pages; None when there is nothing."""

    async def save_draft(self, key: str, value: JsonValue) -> None:
        """Keeps (or with None drops) a draft, over restarts, for a few days."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The live message shows ``revision`` now. ``message`` is the surface's own reference, kept with the ask."""

    revision: int
    message: Mapping[str, JsonValue]
    thread: Thread
    at: float | None = None
    """Since when it surely shows it, by the platform's clock."""


@dataclass(frozen=True, slots=True)
class Later:
    """The live message is being brought up to date by other means: look again in so many seconds."""

    seconds: float


class Surface(Protocol):
    """A place where people are: renders stored asks and hands in what people do.

    `show`, `remind`, `moved` and `groups_of` may raise PlatformError, one of its kinds.
    """

    name: str
    live: bool
    """Whether there is a live message to keep up to date; without one (a web page) `show` only names the thread."""

    async def start(self, asks: Asks) -> None:
        """Connects. Returns once connected, or once a first attempt failed that is being repeated."""

    async def stop(self) -> None:
        """Disconnects; what is being handed in is finished first."""

    def ready(self) -> str | None:
        """None when people can be reached, else one sentence that says why not and what to do."""

    async def show(self, ask: Ask, save: Callable[[Shown], Awaitable[None]]) -> Shown | Later:
        """Makes the live message show the ask as given: posts it the first time, edits it afterwards.

        Idempotent: showing the same ask again changes nothing. ``save`` stores a reference in the
        middle of showing (a thread that was made before its message, say), so that a crash cannot
        double it.
        """

    async def remind(self, ask: Ask, number: int) -> None:
        """Pings the responders in the thread, pointing at the live message.

        ``number`` is the reminder's place (0, 1, …). Safe to call again for the same number: it is
        posted once.
        """

    async def moved(self, ask: Ask, left: Mapping[str, JsonValue], to: Destination) -> None:
        """Turns the message ``left`` (at the place that an ask left) into a note without controls."""

    async def groups_of(self, person: Person, groups: frozenset[str]) -> frozenset[str]:
        """Which of these groups (without the leading @) the person is in."""

    def default_responders(self, destination: Destination) -> tuple[str, ...]:
        """Who may act at this destination when nobody said so; empty: nobody, the ask is refused."""

    def check(self, destination: Destination) -> str | None:
        """None when the destination is well-formed here, else one sentence that says what is wrong."""


class Inquiry(Protocol):
    """The configured backend that may answer what is not a person's to answer."""

    async def answer(self, ask: Ask, question: Question) -> JsonValue:
        """Its answer, not yet checked.

        Raises:
            InquiryError: no answer could be had.
        """


class Write(NamedTuple):
    """What one transaction stores for an ask, all or nothing."""

    ask: Ask
    entries: tuple[Entry, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    memory: Memory | None = None


class Decision(NamedTuple, Generic[T]):
    """What to store (None: nothing) and what to tell the caller."""

    write: Write | None
    result: T


class Store(Found, Protocol):
    """Where asks live. Every write is one durable transaction; every method may raise StoreError."""

    async def open(self) -> None:
        """Opens and migrates; DatabaseTooNewError where a newer Answerback wrote it."""

    async def close(self) -> None:
        """Finishes what is under way and closes."""

    async def latest(self) -> float | None:
        """When the last line of the record was written, by the clock of then; None: there is none."""

    async def set_back(self, seconds: float, at: float) -> None:
        """Plans anew, once for each ``at``, because the clock was set back by so much to that time.

        Pending deliveries, reminders and escalations come when they would have come; a deadline stays the time that
        people were told.
        """

    async def check(self) -> None:
        """Proves that the store can be read and written; StoreError where it can not."""

    async def create(self, write: Write, idempotency: Idempotency | None) -> Created | Existing:
        """Stores a new ask, or finds the one that this idempotency key stored before."""

    async def created(self, idempotency: Idempotency) -> Existing | None:
        """What this idempotency key stored before, or None."""

    async def change(
        self,
        ask_id: str,
        decide: Callable[[Ask | None], Decision[T]],
        *,
        delivery: str | None = None,
        then: Callable[[T], None] | None = None,
    ) -> tuple[T, bool]:
        """Loads an ask, decides and stores, in one transaction that nobody else's can interleave.

        ``decide`` is pure and quick; it may run on another thread, and may run again if the
        transaction has to be repeated. With ``delivery``, its id is stored with the change, and if
        it had been stored before, nothing is written. ``then`` is told the result once it is
        durable, unless it is such a repeat: on the event loop, and also where the caller has left.
        Returns the result and whether it is a repeat.
        """

    async def get(self, ask_id: str) -> Ask | None:
        """An ask, or None."""

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

    async def note(self, ask_id: str | None, entry: Entry) -> None:
        """Adds a line to the record that no change of an ask comes with."""

    async def shown(self, ask_id: str, shown: Shown, of: Ask | None = None) -> None:
        """Notes what the live message shows, by `bot.shown.noted`.

        ``of`` is the ask as it was when it was shown; without it, as it is now.
        """

    async def due(self, now: float, limit: int) -> Sequence[str]:
        """Ids of asks for which the clock has something to do, earliest first."""

    async def next_due(self, after: float) -> float | None:
        """When, later than ``after``, the clock has something to do next (seconds since the epoch), or None."""

    async def remembered(
        self, agent: str, conversation: str, turn: str, tool: str, question_id: str
    ) -> tuple[JsonValue] | None:
        """The remembered answer in a tuple of one, or None."""

    async def draft(self, key: str) -> JsonValue:
        """A draft, or None."""

    async def save_draft(self, key: str, value: JsonValue, at: float) -> None:
        """Stores or (None) drops a draft."""

    async def due_deliveries(self, now: float, limit: int) -> Sequence[StoredDelivery]:
        """Pending deliveries whose time has come, oldest first, one (the first undelivered) an ask."""

    async def next_delivery(self, after: float = 0.0) -> float | None:
        """When, later than ``after``, the next pending delivery is due, or None."""

    async def tried(
        self, results: Sequence[StoredDelivery], entries: Sequence[tuple[str, Entry]]
    ) -> None:
        """Stores what became of deliveries and the record's lines about the tries (with their ask ids)."""

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

        The key of an open ask is kept: a late repeat must not ask people a second time.
        """

    async def counts(self) -> Mapping[str, int]:
        """How many asks there are by status, from counters, and deliveries by state."""
