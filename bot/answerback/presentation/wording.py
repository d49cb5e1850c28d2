"""Sentences that all surfaces share: private notes to a person, and how an ask ended."""

from __future__ import annotations

from typing import Final, NamedTuple

from answerback.core.ask import Ask, Status
from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.core.walker import Person, Source
from answerback.ports.surface import Rejected, RejectReason

_RACE_SECONDS: Final = 10.0
"""Seconds after a change within which a click on the old state is a race; later, the person's copy was outdated."""


class ActedOnVersion(NamedTuple):
    """The revision that a person's copy of the message showed, and when they acted (seconds since the epoch)."""

    revision: int
    at: float


def asks_line(view: View, labels: Labels, *, briefly: bool = False) -> str:
    """Return who asks, with the progress: ``Assistant asks [2/3]``."""
    line = who_asks(view, labels, briefly=briefly)
    progress = view.prompt.progress if view.prompt else None
    return f"{line} {progress}" if progress else line


def reminder_subject(view: View, labels: Labels) -> str:
    """Return the subject of a reminder: the open question, or that the answers need to be reviewed."""
    return view.prompt.question.text if view.prompt else labels.review_title


def who_asks(view: View, labels: Labels, *, briefly: bool = False) -> str:
    """Return who asks, and whether they still wait; ``briefly`` is for a list of many asks."""
    if view.unattended and view.outcome is None and not briefly:
        return labels.asked_unattended.format(label=view.label)
    line = labels.asked if view.unattended or view.outcome is not None else labels.asks
    return line.format(label=view.label)


def ending(view: View, labels: Labels) -> str:
    """Return how an ask ended, without who ended it; empty while it is open."""
    if view.outcome is None:
        return ""
    return labels.erased if view.erased else _ending(view, view.outcome.status, labels)


def _ending(view: View, status: Status, labels: Labels) -> str:
    match status:
        case Status.ANSWERED:
            return labels.answered
        case Status.CANCELLED:
            if view.reply:
                return labels.cancelled
            answered = any(line.given for line in view.lines)
            return labels.cancelled_early if answered else labels.cancelled_without_words
        case Status.TURN_ENDED:
            return labels.turn_ended
        case Status.EXPIRED:
            return labels.expired
        case Status.WITHDRAWN:
            return labels.withdrawn.format(label=view.label)
        case Status.FAILED:
            return labels.failed
        case Status.OPEN:
            raise AssertionError("an outcome is never open")


def ending_with_person(view: View, labels: Labels, name: str | None = None) -> str:
    """Return how an ask ended and by whom; empty while it is open.

    Args:
        name: what to call the person; None: their display name.
    """
    how = ending(view, labels)
    by = view.outcome.ended_by if view.outcome else None
    return f"{how} {labels.by.format(name=name or display_name(by))}" if by else how


def display_name(person: Person) -> str:
    """Return the name by which others see a person."""
    return person.name or person.user_id


def source_note(source: Source, labels: Labels) -> str | None:
    """Return the note on an answer that no person gave; None for a person's own."""
    return {
        Source.DEFAULT: labels.source_default,
        Source.CONFIG: labels.source_config,
        Source.REMEMBERED: labels.source_remembered,
        Source.INQUIRY: labels.source_inquiry,
    }.get(source)


def rejection_note(
    rejected: Rejected,
    view: View | None,
    labels: Labels,
    who: str,
    reader: str | None = None,
    copy: ActedOnVersion | None = None,
) -> str:
    """Return the private note to a person whose action was rejected.

    Args:
        view: the view of ``rejected.ask``; None if there is no ask.
        who: the responders, as this surface names them.
        reader: the id of the person who acted, so that the note does not call them someone else.
        copy: the version they acted on; None if it is always current.
    """
    match rejected.why:
        case RejectReason.NOT_FOUND:
            return labels.not_found
        case RejectReason.NOT_ALLOWED:
            return labels.not_allowed.format(who=who)
        case RejectReason.UNCHECKED:
            return labels.unchecked
        case RejectReason.ENDED:
            return labels.has_ended.format(how=ending_with_person(view, labels) if view else "")
        case RejectReason.STALE if rejected.problems:
            return "\n".join(problem.message for problem in rejected.problems)
        case RejectReason.STALE:
            return _stale(rejected.ask, labels, reader, copy)
        case RejectReason.INVALID:
            return "\n".join(problem.message for problem in rejected.problems)


def _stale(ask: Ask | None, labels: Labels, reader: str | None, copy: ActedOnVersion | None) -> str:
    """Say why an action does not fit the current question: somebody was faster, or the copy was out of date."""
    by = ask.acted_by if ask else None
    if ask is not None and copy is not None:
        if copy.at - ask.updated_at > _RACE_SECONDS:
            return labels.out_of_date
        if ask.acted_revision <= copy.revision:
            by = None  # nobody was faster: a timer moved the ask on
    if by is None:
        return labels.too_late_unknown
    own = by.user_id == reader
    return labels.too_late_own if own else labels.too_late.format(name=display_name(by))
