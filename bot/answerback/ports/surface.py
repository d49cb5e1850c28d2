"""Surfaces, and the service as surfaces see it.

Proved by `answerback_testing.surface_contract`, a class of tests that every surface's own tests inherit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from pydantic import JsonValue

from answerback.core.ask import Ask, Destination, Thread
from answerback.core.errors import Problem
from answerback.core.grants import Grant
from answerback.core.intents import Intent, ResolvedAction
from answerback.core.people import People
from answerback.core.walker import Person
from answerback.ports.claims import Fence
from answerback.ports.commands import Commands
from answerback.ports.files import FileReader, PeopleFiles
from answerback.ports.live_messages import LiveMessages
from answerback.ports.search import Search
from answerback.ports.store_values import Page, StoredEntry

T = TypeVar("T")


class Actor(NamedTuple):
    """The person who acts, and the groups (user groups, roles) they are known to be in.

    ``groups_known`` are the groups that were looked up; membership in any other is undetermined.
    """

    person: Person
    groups: frozenset[str] = frozenset()
    groups_known: frozenset[str] = frozenset()
    all_groups: bool = False
    """True if ``groups`` is complete, so that none needs to be looked up."""
    ids: tuple[str, ...] | None = None
    """The person's ids on the ask's surface, if they act from another one; None: their own id. Set by the service."""


class RejectReason(StrEnum):
    """Why an action changed nothing."""

    NOT_FOUND = "not_found"
    NOT_ALLOWED = "not_allowed"
    UNCHECKED = "unchecked"
    """It could not be determined right now whether this person may act."""
    STALE = "stale"
    ENDED = "ended"
    INVALID = "invalid"


class Acted(NamedTuple):
    """The action was applied: the ask after it. ``repeated``: this delivery had already been applied."""

    ask: Ask
    repeated: bool = False


class Rejected(NamedTuple):
    """The action changed nothing; ``ask`` is the current ask (None if there is none with this id)."""

    why: RejectReason
    ask: Ask | None = None
    problems: tuple[Problem, ...] = ()


class Batch(NamedTuple):
    """One decision about the permissions that a person has ticked in a list."""

    ticked: Sequence[str]
    """The id of each ask, and the revision that the person saw, as `answerback.presentation.batch_rows` writes them."""
    allow: bool
    """True to allow them once, False to deny them."""
    delivery: str
    """The platform's id of this decision; a repeated one counts once."""
    is_shown_whole: Callable[[Ask], bool]
    """Return True if the list shows the whole context of an ask: no other is allowed."""


class CommitSubscription(Protocol):
    """A subscription to commits. Nothing is kept of it once its context is left."""

    async def next_commit(self) -> Ask | None:
        """Wait for the next commit and return the ask; None when the process is stopping."""


class Asks(LiveMessages, Protocol):
    """The service, as adapters see it. Every method commits before it returns."""

    people: People
    """Tells which accounts belong to one person."""
    commands: Commands
    """The commands that people can give by ``/answerback``."""
    files: FileReader
    """The bytes of the files that agents and people send."""
    people_files: PeopleFiles
    """Takes in what people send."""

    async def act(
        self,
        ask_id: str,
        action: ResolvedAction,
        actor: Actor,
        *,
        revision: int | None = None,
        delivery: str | None = None,
        digest: str = "",
        at: float | None = None,
    ) -> Acted | Rejected:
        """`apply` with an action that is already known.

        Args:
            revision: the revision that the person saw; any other is `RejectReason.STALE`.
            delivery: the platform's id of this delivery; the same id again gives `Acted(repeated=True)`.
            digest: of what is delivered, if the delivery's id is a caller's own key.
            at: when the person acted, by the platform's clock.
        """

    async def apply(
        self, intent: Intent, actor: Actor, *, fence: Fence | None = None
    ) -> Acted | Rejected:
        """Apply a responder's intent in one step: it is resolved and decided against the current ask.

        An intent without an action stores nothing: `Acted` with the current ask then means that the person may act on
        it. A problem explains to the person what to do if typed text stands for nothing (`RejectReason.INVALID`) or may
        be older than the open question (`RejectReason.STALE`).

        Args:
            fence: the lease under which this process received the intent, if any.

        Raises:
            StoreError: it is unknown whether anything was saved; ask the person to try again.
            LeaseLostError: nothing was saved because the lease was lost; its new holder does the rest.
            IdempotencyKeyReusedError: nothing was saved because this delivery's id came with another digest before.
        """

    async def decide_batch(self, batch: Batch, actor: Actor, *, fence: Fence | None = None) -> int:
        """Decide about several permissions, each on its own as by `apply`; returns how many are left undecided.

        What fails at one of them stops no other.
        """

    async def get(self, ask_id: str) -> Ask | None:
        """The current ask, or None."""

    async def with_groups(self, actor: Actor, ask: Ask) -> Actor | None:
        """A person, with those of their groups that may answer or confirm an ask where it is shown; None if its surface
        cannot say yet."""

    async def list_open_in(
        self,
        surface: str,
        channel: str,
        thread: str | None,
        *,
        wanted: Callable[[Ask], bool] = lambda _ask: True,
    ) -> Sequence[Ask]:
        """The open asks shown in a thread (``thread`` None: anywhere in the channel), newest first, ten at most.

        Args:
            wanted: returns False for an ask that does not count. Asks are read in pages until ten count.
        """

    async def list_open_at(
        self,
        surface: str,
        channel: str,
        thread: str | None,
        at: float | None,
        *,
        wanted: Callable[[Ask], bool] = lambda _ask: True,
    ) -> Sequence[Ask]:
        """The asks that people may have seen as open in a thread (``thread`` None: anywhere in the channel) at a time
        of the platform's clock, even if they have ended or moved away since. One that has moved away is as people saw
        it there (`answerback.core.escalation.is_left_behind`). If there are none, or the time is unknown, those
        that are open now.

        Args:
            wanted: as in `list_open_in`. An ask that has moved away is passed to it as people saw it there.
        """

    async def list_grants(self, person: Person | None) -> Sequence[Grant]:
        """The grants that can still be used, newest first; with a person, only theirs."""

    async def list_waiting_for(self, actor: Actor, after: str | None, limit: int) -> Page[Ask]:
        """The open asks that a person may answer on their surface, from all agents: the most urgent first, and then
        those that were asked first.

        Raises:
            ValueError: ``after`` is not a cursor of an earlier page.
        """

    async def list_open_to_anyone(self, surface: str, limit: int) -> Sequence[Ask]:
        """The first open asks that anyone who sees a channel of a surface may answer, the most urgent first."""

    async def list_answered_by(self, person: Person, limit: int) -> Sequence[Ask]:
        """The asks that have ended with answers from a person, newest first."""

    async def search_for(
        self, person: Person | None, wanted: Search, after: str | None, limit: int
    ) -> Page[Ask]:
        """The asks that match a search: all for None, else a person's own (`answerback.service.inbox.Inbox`).

        Raises:
            ValueError: ``after`` is not a cursor of an earlier page.
        """

    async def record(self, ask_id: str, after: int = 0) -> Sequence[StoredEntry]:
        """A page of an ask's record after a given number, oldest line first."""

    def follow(self, what: str) -> AbstractContextManager[CommitSubscription]:
        """Follow the commits to one ask (by its id) or to every ask of a surface (by its name)."""

    async def draft(self, key: str) -> JsonValue:
        """A person's unfinished input in a form of several pages; None if there is none."""

    async def save_draft(self, key: str, value: JsonValue, ask_id: str = "") -> None:
        """Keep (or with None drop) a draft for a few days, or longer if the ask that it is about is open that long.

        It survives restarts. It is about the ask whose id, between colons, is in its key: an erasure of that ask drops
        it. If there is none, it is about ``ask_id``, whose erasure it survives; empty: about no ask.
        """

    async def change_draft(self, key: str, change: Callable[[JsonValue], JsonValue]) -> JsonValue:
        """Replace a draft with what ``change`` makes of it, and return that.

        Of changes at the same time, in this process or another, none is lost: ``change`` may be called again.
        """


@dataclass(frozen=True, slots=True)
class Shown:
    """The live message now shows ``revision``. ``message`` is the surface's own reference, stored with the ask."""

    revision: int
    message: Mapping[str, JsonValue]
    thread: Thread
    at: float | None = None
    """The time from which it certainly shows it, by the platform's clock."""
    is_visible: bool = False
    """True if people can see the message, even if it shows an earlier revision."""


@dataclass(frozen=True, slots=True)
class RetryLater:
    """The live message is being updated by other means: check again in the given number of seconds."""

    seconds: float


class Surface(Protocol):
    """A place where people answer: it renders stored asks and passes on what people do.

    A surface is built with the service (`Asks`), and is complete from then on. That it is not connected yet is a state,
    which `unready_reason` reports.

    It declares optional capabilities by having their methods: `SupportsReminders`, `SupportsMoves`, `SupportsGroups`,
    `SupportsPlaceGroups`, `SupportsLists`. The service works without them. `show` and those methods may raise a kind of
    PlatformError.
    """

    name: str
    live: bool
    """True if there is a live message to keep up to date; if not (a web page), `show` only names the thread."""

    async def start(self) -> None:
        """Connect. Returns once connected, or once a first attempt has failed and is being retried."""

    async def stop(self) -> None:
        """Disconnect, after finishing the actions that are being passed on."""

    def unready_reason(self) -> str | None:
        """None if people can be reached, else one sentence that says why not and what to do."""

    async def show(self, ask: Ask, save: Callable[[Shown], Awaitable[None]]) -> Shown | RetryLater:
        """Make the live message show this ask: post it the first time, edit it afterwards.

        Idempotent: showing the same ask again changes nothing. ``save`` stores a reference halfway through (for
        example, a thread that was created before its message), so that a crash does not create it twice.
        """

    def default_responders(self, destination: Destination) -> tuple[str, ...]:
        """Return who may act at this place if no responders are named; if empty, the ask is refused."""

    def destination_problem(self, destination: Destination) -> str | None:
        """None if the destination is well-formed for this surface, else one sentence that says what is wrong."""


@runtime_checkable
class SupportsReminders(Protocol):
    """A surface that can ping people. Without this, an ask is only seen where it is shown."""

    async def remind(self, ask: Ask, number: int) -> None:
        """Ping the responders in the thread, pointing at the live message.

        ``number`` is the reminder's index (0, 1, …). It is safe to call this again with the same number: the reminder
        is posted once.
        """


@runtime_checkable
class SupportsMoves(Protocol):
    """A surface whose message stays behind when the ask moves elsewhere. Without this, nothing is left behind."""

    async def retire_message(
        self, ask: Ask, left: Mapping[str, JsonValue], to: Destination
    ) -> float | None:
        """Turn the message ``left`` (at the place that the ask left) into a note without controls.

        Returns when it certainly was one, by the platform's clock; None if that is unknown.
        """


@runtime_checkable
class SupportsLeading(Protocol):
    """A surface with work that only one of the processes sharing a store does at a time."""

    def is_leader(self) -> bool | None:
        """Return True if this process leads; None if the store is not shared or no such work is configured."""


@runtime_checkable
class SupportsPlaceGroups(Protocol):
    """A surface with a group that is another one at each place, such as the administrators of a chat."""

    def name_groups(self, who: tuple[str, ...], destination: Destination) -> tuple[str, ...]:
        """Return ids of people and groups with such a group named for this destination, so that it holds anywhere.

        One that does not exist there, such as the administrators of a direct message, is left out.
        """


@runtime_checkable
class SupportsLists(Protocol):
    """A surface that updates the lists of what waits for people by itself, whenever an ask changes."""

    def refresh_list(self, user_id: str) -> None:
        """Update a person's list soon: it has changed without a change of an ask."""


@runtime_checkable
class SupportsPeople(Protocol):
    """A surface that knows people by their ids. Without this, an id that is well-formed may be somebody's."""

    async def find_person(self, user_id: str, ask: Ask) -> str | None:
        """Return the name of the person with this id, who can be asked where an ask is shown.

        None: nobody has it who can be, or only a program has it.

        Raises:
            PlatformError: the platform does not say.
        """


@runtime_checkable
class SupportsGroups(Protocol):
    """A surface that knows who is in which group. Without this, nobody is in any."""

    async def groups_of(self, person: Person, groups: frozenset[str]) -> frozenset[str]:
        """Return those of these groups (without the leading @) that the person is in now: never from an earlier lookup,
        because they decide if the person may act."""
