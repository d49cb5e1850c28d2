"""Where an ask is shown, and who may act there. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from answerback.core.asides import UNOPENED, QuestionOpening
from answerback.core.person import Person, StrictDataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination(StrictDataclass):
    """Where to show an ask: a surface, and on it a channel (and thread) or a person."""

    surface: str
    channel: str | None = None
    thread: str | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread(StrictDataclass):
    """The thread that an ask is shown in; ``url`` links to it."""

    channel: str | None = None
    id: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmerCopy(StrictDataclass):
    """The copy of an ask that a person who may confirm its answers has in their own chat."""

    user: str
    surface: str | None = None
    """The surface of that chat; None: that of the ask (earlier versions knew no other)."""
    message: dict[str, JsonValue] | None = None
    """The surface's reference to the copy; None until it is posted."""
    thread: Thread | None = None
    shows: tuple[int, bool, int, float | None] | None = None
    """The state that it shows: see `answerback.core.ask.Ask.rendered_state`."""
    unreachable: bool = False
    """True if the platform lets nobody write to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOver(StrictDataclass):
    """Who handed an ask over last, and to whom."""

    by: Person
    to: Person


@dataclass(frozen=True, slots=True, kw_only=True)
class AbandonedMessage(StrictDataclass):
    """A live message left behind by an escalation: visible ``since`` a time of the platform's clock, if that is known,
    and a note since ``until`` at the latest; None: it has yet to become one."""

    destination: Destination
    message: dict[str, JsonValue]
    thread: Thread | None = None
    since: float | None = None
    until: float | None = None


@dataclass(frozen=True, kw_only=True)
class Placement(StrictDataclass):
    """The place of an ask, who may act there, and its live message. A move replaces it as a whole."""

    destination: Destination
    responders: tuple[str, ...]
    """Who may answer."""
    confirmers: tuple[str, ...] = ()
    """Who may confirm; empty, and nobody elsewhere: the responders."""
    confirmers_elsewhere: tuple[str, ...] = ()
    """Who may confirm, too, and has no account on the surface of the ask: their accounts, as ``surface:id``."""
    handed_over: HandedOver | None = None
    """The last hand over that still holds, which people read."""
    stand_ins: tuple[tuple[str, ...], ...] = ()
    """The accounts of people who are away together with whoever stands in for them: none of those confirms what another
    one has answered."""
    message: dict[str, JsonValue] | None = None
    """The surface's reference to the live message; None until it is posted."""
    thread: Thread | None = None
    shown_revision: int = 0
    """The revision that the live message shows."""
    was_visible: bool = False
    """True once people could see the live message here."""
    seen_since: float | None = None
    """Since when they could, by the platform's clock; None: that is unknown."""
    first_seen: float | None = None
    """Since when they could at an earlier place."""
    old_message: AbandonedMessage | None = None
    """The message at the previous place."""
    place_before: PlaceBefore | None = None
    """Where the ask returns to if it cannot be shown here; None: people have seen it here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceBefore(StrictDataclass):
    """Where an ask was until people can see it where it has moved to. If it cannot be shown there, it returns."""

    placement: Placement
    """The place of before, with the people who could act there."""
    revision: int = 0
    """The revision that its message there shows."""
    opening: QuestionOpening = UNOPENED
    by: Person | None = None
    """Who handed it over; None: it was escalated, or its group has another id."""
    is_closed: bool = False
    """True if nothing can be posted there any more: while the ask is open, it does not return."""
