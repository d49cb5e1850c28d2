"""Surfaces, and the service as surfaces see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from pydantic import JsonValue

from answerback.core.ask import Ask, Destination, Thread
from answerback.core.clarification import AskBack
from answerback.core.errors import Problem
from answerback.core.intents import Intent
from answerback.core.walker import Action, Person
from answerback.ports.claims import Fence
from answerback.ports.live_messages import LiveMessages
from answerback.ports.search import Search
from answerback.ports.store_values import Page, StoredEntry

T = TypeVar("T")


class Actor(NamedTuple):
    """Somebody who acts: the person and the groups (user groups, roles) they are known to be in.

    ``groups_known`` are the groups that were looked up; membership in another one is still open.
    """

    person: Person
    groups: frozenset[str] = frozenset()
    groups_known: frozenset[str] = frozenset()
    all_groups: bool = False
    """Whether ``groups`` are all there are, so that none is to be looked up."""


class RejectReason(StrEnum):
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

    why: RejectReason
    ask: Ask | None = None
    problems: tuple[Problem, ...] = ()


class CommitSubscription(Protocol):
    """Waits for commits; nothing is kept of it once it is left."""

    async def next_commit(self) -> Ask | None:
        """Returns after the next commit, with the ask; None when the process is stopping."""


class Asks(LiveMessages, Protocol):
    """The service, as adapters see it. Every method commits before it returns."""

    async def act(
        self,
        ask_id: str,
        action: Action | AskBack,
        actor: Actor,
        *,
        revision: int | None = None,
        delivery: str | None = None,
        digest: str = "",
        at: float | None = None,
    ) -> Acted | Rejected:
        """`apply` with an action that is known already.

        Args:
            revision: the revision the person saw; another one is `RejectReason.STALE`.
            delivery: the platform's id of this delivery; the same one again is `Acted(repeated=True)`.
            digest: of what is delivered, where its id is a caller's own key.
            at: when they acted, by the platform's clock.
        """

    async def apply(
        self, intent: Intent, actor: Actor, *, fence: Fence | None = None
    ) -> Acted | Rejected:
        """Does what a responder wants of an ask, in one step: resolved and decided on the ask as it stands.

        An intent that wants nothing stores nothing: `Acted` with the ask as it stands says that they may act on it.

        Args:
            fence: the lease under which this process heard of it, where it did.

        Raises:
            StoreError: nothing is known to be saved; tell the person to try again.
            LeaseLostError: nothing was saved, since the lease was lost; whoever holds it does the rest.
            IdempotencyKeyReusedError: nothing was saved, since the id of this delivery came with another digest before.
        """

    async def apply_typed(
        self,
        ask_id: str,
        text: str,
        actor: Actor,
        *,
        at: float | None,
        delivery: str,
        revision: int | None = None,
    ) -> Acted | Rejected:
        """`apply` with what typed words stand for. A problem tells the person what to do where they stand for nothing
        (`RejectReason.INVALID`) or may be older than the open question (`RejectReason.STALE`; ``at`` None: nobody knows when)."""

    async def get(self, ask_id: str) -> Ask | None:
        """The ask as it stands, or None."""

    async def list_open_in(self, surface: str, channel: str, thread: str | None) -> Sequence[Ask]:
        """The open asks shown in a thread (``thread`` None: anywhere in the channel), newest first, ten at the most."""

    async def list_open(self, surface: str, after: str | None, limit: int) -> Page[Ask]:
        """The open asks of a surface, newest first; ``after`` as in `Store.page`."""

    async def list_waiting_for(
        self, person: Person, after: str | None, limit: int, known: frozenset[str] = frozenset()
    ) -> Page[Ask]:
        """The open asks that a person may answer on their surface, over all agents, oldest first.

        Args:
            known: groups that they are in, which need not be looked up.

        Raises:
            ValueError: ``after`` is no cursor of a page before.
        """

    async def list_answered_by(self, person: Person, limit: int) -> Sequence[Ask]:
        """The asks that have ended with answers of a person's, the newest first."""

    async def search_for(
        self, person: Person | None, wanted: Search, after: str | None, limit: int
    ) -> Page[Ask]:
        """The asks of a search: all for None, else a person's own (`answerback.service.list_open.search_for`).

        Raises:
            ValueError: ``after`` is no cursor of a page before.
        """

    async def record(self, ask_id: str, after: int = 0) -> Sequence[StoredEntry]:
        """A page of the record of an ask behind a number, the oldest line first."""

    def follow(self, what: str) -> AbstractContextManager[CommitSubscription]:
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
class RetryLater:
    """The live message is being brought up to date by other means: look again in so many seconds."""

    seconds: float


class Surface(Protocol):
    """A place where people are: renders stored asks and hands in what people do.

    What else it may be capable of, it declares by having the method: `SupportsReminders`, `SupportsMoves`, `SupportsGroups`. The service does
    without. `show` and those methods may raise PlatformError, one of its kinds.
    """

    name: str
    live: bool
    """Whether there is a live message to keep up to date; without one (a web page) `show` only names the thread."""

    async def start(self, asks: Asks) -> None:
        """Connects. Returns once connected, or once a first attempt failed that is being repeated."""

    async def stop(self) -> None:
        """Disconnects; what is being handed in is finished first."""

    def unready_reason(self) -> str | None:
        """None when people can be reached, else one sentence that says why not and what to do."""

    async def show(self, ask: Ask, save: Callable[[Shown], Awaitable[None]]) -> Shown | RetryLater:
        """Makes the live message show the ask as given: posts it the first time, edits it afterwards.

        Idempotent: showing the same ask again changes nothing. ``save`` stores a reference in the
        middle of showing (a thread that was made before its message, say), so that a crash cannot
        double it.
        """

    def default_responders(self, destination: Destination) -> tuple[str, ...]:
        """Who may act at this destination when nobody said so; empty: nobody, the ask is refused."""

    def destination_problem(self, destination: Destination) -> str | None:
        """None when the destination is well-formed here, else one sentence that says what is wrong."""


@runtime_checkable
class SupportsReminders(Protocol):
    """A surface that can ping people. Without it, the ask stays where it is seen."""

    async def remind(self, ask: Ask, number: int) -> None:
        """Pings the responders in the thread, pointing at the live message.

        ``number`` is the reminder's place (0, 1, …). Safe to call again for the same number: it is
        posted once.
        """


@runtime_checkable
class SupportsMoves(Protocol):
    """A surface whose message stays behind when the ask goes to another place. Without it, nothing is left."""

    async def retire_message(
        self, ask: Ask, left: Mapping[str, JsonValue], to: Destination
    ) -> None:
        """Turns the message ``left`` (at the place that an ask left) into a note without controls."""


@runtime_checkable
class SupportsLeading(Protocol):
    """A surface with something that one process at a time does, of those that share a store."""

    def is_leader(self) -> bool | None:
        """Whether this process does it; None: it shares its store with nobody, or nothing of the kind is configured."""


@runtime_checkable
class SupportsGroups(Protocol):
    """A surface that knows who is in which group. Without it, nobody is in any."""

    async def groups_of(self, person: Person, groups: frozenset[str]) -> frozenset[str]:
        """Which of these groups (without the leading @) the person is in."""
