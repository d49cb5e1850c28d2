"""Who may answer and until when, and who gave the answers: lines that each surface marks up in its own way. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from answerback.core.ask import ANYONE
from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.core.walker import GivenAnswer, Person
from answerback_chat.sanitize import one_line
from answerback_chat.text_fitting import shorten

MAX_NAMED: Final = 5
"""People and groups that a line names; how many more there are stands behind them."""
MAX_LABEL_UNITS: Final = 300
"""Units of a configured label in such a line."""
_NAMES: Final = "web"
"""The surface where the id of a person is a name that they are known by."""
_PLATFORMS_ID: Final = re.compile(r"@.*|[A-Z0-9]+")
"""Ids of groups, and of people as platforms write them."""
_SAME: Final = 60.0
"""Seconds within which two times read alike."""


class AttributionFormat(NamedTuple):
    """How a surface sets what such a line is made of."""

    words: Callable[[str], str]
    """Words of ours, escaped."""
    responder: Callable[[str], str | None]
    """The name or mention of a responder, by id; None: not known."""
    person: Callable[[Person], str]
    """Somebody who answered."""
    time: Callable[[float], str]
    """A day and a time, in seconds since the epoch."""


def audience_line(
    responders: Sequence[str], closes_at: float | None, labels: Labels, marks: AttributionFormat
) -> str:
    """``For Ada, @ops · closes tomorrow at 9:00``; empty where there is nothing to say.

    Args:
        responders: who may answer; none where that goes without saying.
        closes_at: when the ask expires, in seconds since the epoch; None: never.
    """
    closes = "" if closes_at is None else _filled(labels.closes, marks, time=marks.time(closes_at))
    return " · ".join(filter(None, (_for_whom(responders, labels, marks), closes)))


def _for_whom(responders: Sequence[str], labels: Labels, marks: AttributionFormat) -> str:
    if not responders:
        return ""
    if ANYONE in responders:
        return _filled(labels.for_anyone, marks)
    named = [name for who in responders[:MAX_NAMED] if (name := marks.responder(who))]
    if not named:
        return _filled(labels.for_people, marks, count=str(len(responders)))
    return _filled(labels.for_whom, marks, who=_listed(named, len(responders), ", ", labels, marks))


def answered_by_line(view: View, labels: Labels, marks: AttributionFormat) -> str:
    """``Answered by Ada, 9:00 · Bob, 9:05``; empty where nobody answered, or the ending says it already."""
    turns = _turns(line.given for line in view.lines if line.given is not None)
    if not turns or _told_by_ending(view, turns):
        return ""
    said = [_said(turn, marks) for turn in turns[:MAX_NAMED]]
    return _filled(labels.given_by, marks, who=_listed(said, len(turns), " · ", labels, marks))


class _Turn(NamedTuple):
    """What one person answered, and from when to when."""

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


def _told_by_ending(view: View, turns: Sequence[_Turn]) -> bool:
    """Whether one person gave all the answers and ended it, all at about the same time."""
    [turn, *others] = turns
    if view.outcome is None or others or turn.person != view.outcome.ended_by:
        return False
    return turn.since is None or view.outcome.at - turn.since < _SAME


def _said(turn: _Turn, marks: AttributionFormat) -> str:
    name = marks.person(turn.person)
    if turn.since is None or turn.until is None:
        return name
    if turn.until - turn.since < _SAME:
        return f"{name}, {marks.time(turn.until)}"
    return f"{name}, {marks.time(turn.since)} – {marks.time(turn.until)}"


def _listed(
    named: Sequence[str], total: int, between: str, labels: Labels, marks: AttributionFormat
) -> str:
    left = total - len(named)
    more = f" {_filled(labels.and_more, marks, count=str(left))}" if left else ""
    return between.join(named) + more


def _filled(label: str, marks: AttributionFormat, **places: str) -> str:
    """Words with what stands in their places, which is marked up already."""
    said = marks.words(shorten(label, MAX_LABEL_UNITS))
    for place, text in places.items():
        said = said.replace(f"{{{place}}}", text)
    return said


def responder_name(surface: str, responder: str) -> str | None:
    """A responder whose id is a name: somebody on the web, or ``web:NAME``; None for a platform's ids."""
    there, colon, name = responder.partition(":")
    if colon and there == _NAMES:
        return one_line(name)
    # An ask may have come to the web from a chat, with the responders that it had there.
    return None if surface != _NAMES or _PLATFORMS_ID.fullmatch(responder) else one_line(responder)
