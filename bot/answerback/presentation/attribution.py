"""The lines for who may answer and until when, and who answered; each surface adds its own markup. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from string import Formatter
from typing import Final, NamedTuple

from answerback.core.ask import ANYONE, DEFAULT_ASKER, HandedOver, Status
from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.core.walker import GivenAnswer, Person
from answerback.presentation.durations import duration
from answerback.presentation.text_fitting import shorten
from answerback_base.sanitize import one_line

MAX_NAMED: Final = 5
"""The number of people and groups that a line names; the number of others follows."""
MAX_LABEL_UNITS: Final = 300
"""Units of a configured label in such a line."""
_NAMED_SURFACE: Final = "web"
"""The surface where a person's id is their display name."""
_PLATFORM_ID: Final = re.compile(r"@.*|[A-Z0-9]+")
"""Ids of groups, and of people as platforms write them."""
_SAME_MINUTE: Final = 60.0
"""Seconds within which two times are shown as one."""
_SAME_DAY: Final = 43_200.0
"""Seconds after which the time of day alone no longer tells when something was."""


def utc_clock(at: float) -> str:
    """Return ``13:41 UTC``."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M UTC")


def utc_time(at: float) -> str:
    """Return ``2026-01-31 13:41 UTC``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


class AttributionFormat(NamedTuple):
    """The functions with which a surface formats the parts of such a line."""

    text: Callable[[str], str]
    """Escapes a text."""
    responder: Callable[[str], str | None]
    """Formats a responder's name or mention, by id; None if unknown."""
    person: Callable[[Person], str]
    """Formats the name of a person who answered."""
    time: Callable[[float], str]
    """Formats a day and time, given in seconds since the epoch."""
    clock: Callable[[float], str] = utc_clock
    """Formats the time of day alone."""


def audience_line(
    responders: Sequence[str],
    closes_at: float | None,
    labels: Labels,
    marks: AttributionFormat,
    handed_over: HandedOver | None = None,
) -> str:
    """``For Ada, @ops · Handed over to Bob by Ada · closes tomorrow at 9:00``; empty if there is nothing to show.

    Args:
        responders: who may answer; empty if that is obvious.
        closes_at: when the ask expires, in seconds since the epoch; None: never.
        handed_over: to whom it was handed over last, if that still holds.
    """
    closes = "" if closes_at is None else _fill(labels.closes, marks, time=marks.time(closes_at))
    handed = ""
    if handed_over is not None:
        giver, recipient = marks.person(handed_over.by), _name_of_recipient(handed_over.to, marks)
        handed = _fill(labels.handed_over_to, marks, to=recipient, by=giver)
    return " · ".join(filter(None, (_audience(responders, labels, marks), handed, closes)))


def _name_of_recipient(recipient: Person, marks: AttributionFormat) -> str:
    name = None if recipient.name else marks.responder(recipient.user_id)
    return name or marks.person(
        recipient if recipient.name else replace(recipient, name=recipient.user_id)
    )


def _audience(responders: Sequence[str], labels: Labels, marks: AttributionFormat) -> str:
    if not responders:
        return ""
    if ANYONE in responders:
        return _fill(labels.for_anyone, marks)
    named = [name for who in responders[:MAX_NAMED] if (name := marks.responder(who))]
    if not named:
        return _fill(labels.for_people, marks, count=str(len(responders)))
    return _fill(
        labels.for_whom, marks, who=_join_names(named, len(responders), ", ", labels, marks)
    )


def answered_by_line(view: View, labels: Labels, marks: AttributionFormat) -> str:
    """``Answered by Ada, 9:00 · Bob, 9:05 · Confirmed by Cy, 9:07 · Assistant got this answer at 9:08``, without what
    the ending line already says."""
    turns = _turns(line.given for line in view.lines if line.given is not None)
    if turns and _is_in_ending(view, turns):
        turns = []
    answered = _people(labels.given_by, turns, labels, marks)
    others = (confirmed_by_line(view, labels, marks), collected_line(view, labels, marks))
    return " · ".join(filter(None, (answered, *others)))


def confirmed_by_line(view: View, labels: Labels, marks: AttributionFormat) -> str:
    """``Confirmed by Cy, 9:07``; empty if nobody has confirmed the answers."""
    votes = [_Turn(vote.by, vote.at, vote.at) for vote in view.votes]
    return _people(labels.confirmed_by, votes, labels, marks)


def collected_line(
    view: View, labels: Labels, marks: AttributionFormat, *, due: bool | None = None
) -> str:
    """``Assistant got this answer at 9:08``, or that it has yet to get what a person said; empty if nobody has to know.

    Args:
        due: whether it should have it by now; by default, if it was not waiting for it.
    """
    was_notified = view.retry_request is not None or _ended_with(view, Status.TURN_ENDED)
    if view.erased or not (was_notified or _ended_with(view, Status.ANSWERED, Status.CANCELLED)):
        return ""
    if view.outcome is None or view.read_by_agent_at is None:
        late = view.unread_by_agent and (view.agent_left if due is None else due)
        return _fill(labels.not_collected, marks) if late else ""
    took = view.read_by_agent_at - view.outcome.at
    when = (
        _fill(labels.at_time, marks, time=marks.clock(view.read_by_agent_at))
        if took < _SAME_DAY
        else _fill(labels.waited, marks, time=marks.text(duration(took, labels)))
    )
    host = view.host if view.host != DEFAULT_ASKER else labels.assistant.capitalize()
    label = labels.told if was_notified else labels.collected
    return _fill(label, marks, label=marks.text(one_line(host)), when=when)


def _ended_with(view: View, *statuses: Status) -> bool:
    return view.outcome is not None and view.outcome.status in statuses


def _people(label: str, turns: Sequence[_Turn], labels: Labels, marks: AttributionFormat) -> str:
    if not turns:
        return ""
    names = [_name_and_time(turn, marks) for turn in turns[:MAX_NAMED]]
    return _fill(label, marks, who=_join_names(names, len(turns), " · ", labels, marks))


class _Turn(NamedTuple):
    """A person who answered, and the times of their first and last answer."""

    person: Person
    since: float | None
    until: float | None


def _turns(answers: Iterable[GivenAnswer]) -> list[_Turn]:
    people: dict[tuple[str, str], Person] = {}
    times: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for given in answers:
        if (by := given.by) is None:
            continue
        who = by.surface, by.user_id
        people[who] = by
        if given.at is not None:
            times[who].append(given.at)
    return [
        _Turn(by, min(times[who], default=None), max(times[who], default=None))
        for who, by in people.items()
    ]


def _is_in_ending(view: View, turns: Sequence[_Turn]) -> bool:
    """Return True if one person gave all the answers and ended the ask, all at about the same time."""
    [turn, *others] = turns
    if view.outcome is None or others or turn.person != view.outcome.ended_by:
        return False
    return turn.since is None or view.outcome.at - turn.since < _SAME_MINUTE


def _name_and_time(turn: _Turn, marks: AttributionFormat) -> str:
    name = marks.person(turn.person)
    if turn.since is None or turn.until is None:
        return name
    if turn.until - turn.since < _SAME_MINUTE:
        return f"{name}, {marks.time(turn.until)}"
    return f"{name}, {marks.time(turn.since)} – {marks.time(turn.until)}"


def _join_names(
    named: Sequence[str], total: int, between: str, labels: Labels, marks: AttributionFormat
) -> str:
    others = total - len(named)
    more = f" {_fill(labels.and_more, marks, count=str(others))}" if others else ""
    return between.join(named) + more


def fill(label: str, escape: Callable[[str], str], /, **values: str) -> str:
    """Fill a label's placeholders with values that are marked up already; the label itself is escaped.

    Nothing in a value is taken for a placeholder.
    """
    if not values:
        return escape(label)
    parts = Formatter().parse(label)
    return "".join(
        escape(text) + ("" if name is None else values[name]) for text, name, _, _ in parts
    )


def _fill(label: str, marks: AttributionFormat, /, **values: str) -> str:
    return fill(label, lambda text: marks.text(shorten(text, MAX_LABEL_UNITS)), **values)


def responder_name(surface: str, responder: str) -> str | None:
    """Return the name of a responder whose id is a name (on the web, or ``web:NAME``); None for a platform's ids."""
    prefix, colon, name = responder.partition(":")
    if colon and prefix == _NAMED_SURFACE:
        return one_line(name)
    # An ask may have moved to the web from a chat and kept the responders it had there.
    if surface != _NAMED_SURFACE or _PLATFORM_ID.fullmatch(responder):
        return None
    return one_line(responder)
