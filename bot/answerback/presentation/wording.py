"""Sentences that all surfaces share: private notes to a person, and how an ask ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from answerback.core import refusals
from answerback.core.ask import ANYONE, DEFAULT_ASKER, Ask, Destination, Outcome, Status
from answerback.core.errors import NO_RETRY
from answerback.core.giving_up import GaveUp
from answerback.core.grants import GrantNote
from answerback.core.handing_over import reminder_recipients
from answerback.core.labels import Labels
from answerback.core.urgency import MarkColor, Urgency
from answerback.core.view import View, asker_label, view_of
from answerback.core.walker import Person, Source
from answerback.ports.surface import Rejected, RejectReason
from answerback.presentation.attribution import AttributionFormat, fill, utc_clock
from answerback.presentation.text_fitting import shorten
from answerback_base.headline_text import fit
from answerback_base.sanitize import one_line

MAX_NAMED_IN_NOTE: Final = 10
"""The number of responders or places that a private note names."""
MAX_OPEN_TO_ANYONE: Final = 100
"""The number of questions open to anyone up to which they are counted."""
_QUESTION_UNITS: Final = 300
"""Units of a question in a private note."""
_RACE_SECONDS: Final = 10.0
"""Seconds after a change within which a click on the old state is a race; later, the person's copy was outdated."""


class ActedOnVersion(NamedTuple):
    """The revision that a person's copy of the message showed, and when they acted (seconds since the epoch)."""

    revision: int
    at: float


_CIRCLES: Final = {
    MarkColor.GREY: "⚪",
    MarkColor.RED: "🔴",
    MarkColor.ORANGE: "🟠",
    MarkColor.YELLOW: "🟡",
    MarkColor.GREEN: "🟢",
    MarkColor.BLUE: "🔵",
    MarkColor.PURPLE: "🟣",
}
"""The colors of routes where text has none of its own."""


def waits_line(ask: Ask, labels: Labels) -> str:
    """Return that an ask waits, urgently if so, and from which agent."""
    request = ask.request
    label = one_line(request.origin.label(request.agent, request.prompt_label))
    is_urgent = request.urgency is Urgency.HIGH
    return (labels.waits_urgently if is_urgent else labels.waits).format(label=label)


def files_line(view: View, labels: Labels) -> str:
    """Return what was sent with an ask, in words."""
    names = " · ".join(each.in_words for each in view.files)
    return labels.files_on_page.format(names=names)


def asks_line(view: View, labels: Labels, *, briefly: bool = False) -> str:
    """Return who asks, with the marks and the progress: ``Urgent · 🔴 production · Assistant asks [2/3]``."""
    line = who_asks(view, labels, briefly=briefly)
    progress = view.prompt.progress if view.prompt else None
    return marked(f"{line} {progress}" if progress else line, view, labels)


def marked(line: str, view: View, labels: Labels) -> str:
    """Return a line with how urgent an ask is, and the mark of its route, in front: it is shortened at its end."""
    mark = f"{_CIRCLES[view.mark.color]} {view.mark.word}" if view.mark else ""
    return " · ".join(filter(None, (urgency_text(view.urgency, labels), mark, line)))


def urgency_text(urgency: Urgency, labels: Labels) -> str:
    """Return how urgent an ask is; empty if it is as urgent as most are."""
    return {Urgency.HIGH: labels.urgent, Urgency.LOW: labels.not_urgent}.get(urgency, "")


def subject(view: View, labels: Labels) -> str:
    """Return what an ask is about, for a list or a reminder: its headline, and the question that is open if it is
    another one."""
    if view.erased:
        return labels.erased
    if view.outcome is not None or (view.prompt and view.prompt.position == 1):
        return view.headline
    return f"{view.headline} › {fit(_open_question(view, labels))}"


def _open_question(view: View, labels: Labels) -> str:
    return view.prompt.question.text if view.prompt else summary_title(view, labels)


def summary_title(view: View, labels: Labels) -> str:
    """Return the title of a summary of all answers, which is reviewed or confirmed."""
    return labels.confirm_title if view.confirmation else labels.review_title


def summary_text(view: View, labels: Labels) -> str:
    """Return what to do with a summary of all answers."""
    if view.confirmation is None:
        return labels.review_text
    missing, unreachable = view.confirmation.missing, view.confirmation.unreachable
    texts = [labels.confirm_text if missing == 1 else labels.confirm_more.format(count=missing)]
    if unreachable:
        texts.append(labels.confirm_unreachable.format(count=unreachable))
    if view.confirmation.stand_ins_left:
        texts.append(labels.confirm_stand_ins)
    return " ".join(texts)


def reminder(ask: Ask, number: int, labels: Labels) -> tuple[tuple[str, ...], str]:
    """Return whom a reminder tells and what: that the agent waits, or that the ask was handed over to them
    or could not be."""
    recipient, label = reminder_recipients(ask, number), labels.reminder
    if recipient and recipient is ask.schedule.recipient_ids:
        label = labels.handed_back if ask.schedule.hand_over_failed else labels.handed_over
    elif ask.confirming:
        label = labels.confirm_reminder
    return recipient, sentence(label, asker_label(ask), labels)


def sentence(template: str, asker: str, labels: Labels) -> str:
    """Fill ``{label}`` in a sentence with who asks: a name, or "the assistant"."""
    if asker != DEFAULT_ASKER:
        return template.format(label=asker)
    name = labels.assistant
    starts = template.startswith("{label}")
    return template.format(label=name[:1].upper() + name[1:] if starts else name)


def end_turn_text(asker: str, labels: Labels, *, deny: bool) -> str:
    """Return what End Turn does, for its confirmation; on a permission it denies."""
    return sentence(labels.deny_and_stop_text if deny else labels.end_turn_text, asker, labels)


def who_asks(view: View, labels: Labels, *, briefly: bool = False) -> str:
    """Return who asks, and whether they still wait; ``briefly`` is for a list of many asks."""
    if view.agent_left and view.outcome is None and not briefly:
        return sentence(labels.asked_unattended, view.label, labels)
    line = labels.asked if view.agent_left or view.outcome is not None else labels.asks
    return line.format(label=view.label)


def ending(view: View, labels: Labels) -> str:
    """Return how an ask ended, without who ended it; empty while it is open."""
    if view.outcome is None:
        return ""
    return labels.erased if view.erased else _ending(view, view.outcome.status, labels)


def _ending(view: View, status: Status, labels: Labels) -> str:
    match status:
        case Status.ANSWERED:
            return _answered(view, labels)
        case Status.CANCELLED:
            if view.unconfirmed:
                return labels.objection
            return labels.cancelled if view.reply else labels.closed
        case Status.TURN_ENDED:
            return labels.turn_ended
        case Status.EXPIRED:
            return _expired(view, labels)
        case Status.WITHDRAWN:
            return sentence(labels.withdrawn, view.label, labels)
        case _:  # an outcome is never open
            return labels.failed


def _expired(view: View, labels: Labels) -> str:
    match view.outcome:
        case Outcome(gave_up=GaveUp.DENIED, at=at):
            return _denied(view, labels).format(time=utc_clock(at))
        case Outcome(gave_up=GaveUp.GONE):
            return sentence(labels.no_longer_waits, view.host, labels)
        case _:
            return labels.expired_unconfirmed if view.unconfirmed else labels.expired


def _denied(view: View, labels: Labels) -> str:
    return labels.denied_unconfirmed if view.unconfirmed else labels.denied


def _answered(view: View, labels: Labels) -> str:
    sources = {line.given.source for line in view.lines if line.given is not None}
    if Source.DEFAULT not in sources:
        return labels.answered
    return labels.defaults_used_rest if Source.HUMAN in sources else labels.defaults_used


def ending_status(view: View) -> Status | None:
    """Return the status whose mark and colour suit an ask's ending: defaults taken at a deadline are not an answer.

    None while it is open.
    """
    if view.outcome is None:
        return None
    defaults = any(line.given and line.given.source is Source.DEFAULT for line in view.lines)
    return Status.EXPIRED if defaults else view.outcome.status


def ending_with_person(view: View, labels: Labels, marks: AttributionFormat) -> str:
    """Return how an ask ended and by whom, marked up; empty while it is open.

    What followed is said, too: a person told the agent to try again, or allowed it again, or revoked that.
    """
    said = [_ending_with_person(view, labels, marks)]
    if view.erased:
        return said[0]
    if view.retry_request and (teller := view.retry_request.by):
        said.append(fill(labels.told_to_try_again, marks.text, name=marks.person(teller)))
    if view.grant:
        said += _grant_lines(view.grant, labels, marks)
        said = said[1:] if view.grant.number else said
    return " · ".join(said)


def _grant_lines(grant: GrantNote, labels: Labels, marks: AttributionFormat) -> Iterator[str]:
    """Say that something is allowed again or was, without notifying its maker, and whether that was revoked."""
    name, until = marks.text(display_name(grant.by)), marks.clock(grant.until)
    values = {"name": name, "uses": str(grant.uses), "time": until, "use": str(grant.number)}
    yield fill(labels.granted_use if grant.number else labels.granted, marks.text, **values)
    if grant.revoked_by is not None:
        yield fill(labels.revoked, marks.text, name=marks.text(display_name(grant.revoked_by)))


def _ending_with_person(view: View, labels: Labels, marks: AttributionFormat) -> str:
    by = _who_ended(view)
    if by is None or view.outcome is None:
        if view.outcome and view.outcome.gave_up is GaveUp.DENIED and not view.erased:
            return fill(_denied(view, labels), marks.text, time=marks.clock(view.outcome.at))
        return marks.text(ending(view, labels))
    if view.outcome.status is Status.CANCELLED and not (view.reply or view.unconfirmed):
        return fill(labels.closed_by, marks.text, name=marks.person(by))
    person = fill(labels.by, marks.text, name=marks.person(by))
    return f"{marks.text(ending(view, labels))} {person}"


def _who_ended(view: View) -> Person | None:
    """Return who ended an ask; of answers that others confirmed, who gave them, if that is one person."""
    if view.outcome is None:
        return None
    if not view.votes or view.outcome.status is not Status.ANSWERED:
        return view.outcome.ended_by
    answerers = {line.given.by for line in view.lines if line.given is not None and line.given.by}
    return answerers.pop() if len(answerers) == 1 else None


def empty_inbox(
    open_to_anyone: Sequence[Ask],
    labels: Labels,
    escape: Callable[[str], str],
    place: Callable[[Destination], str],
) -> str:
    """Return what an inbox in which nothing waits says, marked up.

    Args:
        open_to_anyone: up to `MAX_OPEN_TO_ANYONE` asks that anyone may answer where they are shown.
        place: formats where an ask is shown.
    """
    if not open_to_anyone:
        return escape(labels.inbox_empty)
    places = list(dict.fromkeys(place(ask.placement.destination) for ask in open_to_anyone))
    more = ["…"] if len(places) > MAX_NAMED_IN_NOTE else []
    count = len(open_to_anyone)
    return fill(
        labels.inbox_empty_mine,
        escape,
        count=f"{count}+" if count == MAX_OPEN_TO_ANYONE else str(count),
        where=", ".join([*places[:MAX_NAMED_IN_NOTE], *more]),
    )


def display_name(person: Person) -> str:
    """Return the name by which others see a person."""
    return person.name or person.user_id


def surface_name(surface: str, labels: Labels) -> str:
    """Return the name of a surface within a sentence."""
    return labels.place_page if surface == "web" else surface.capitalize()


def source_note(source: Source, labels: Labels) -> str | None:
    """Return the note on an answer that no person gave; None for a person's own."""
    return {
        Source.DEFAULT: labels.source_default,
        Source.CONFIG: labels.source_config,
        Source.GRANT: labels.source_grant,
        Source.REMEMBERED: labels.source_remembered,
        Source.INQUIRY: labels.source_inquiry,
    }.get(source)


def rejection_note(
    rejected: Rejected,
    labels: Labels,
    marks: AttributionFormat,
    reader: str | None = None,
    copy: ActedOnVersion | None = None,
) -> str:
    """Return the private note to a person whose action was rejected, marked up.

    Args:
        reader: the id of the person who acted, so that the note does not call them another person.
        copy: the version they acted on; None if they typed, or if it is always current.
    """
    ask = rejected.ask
    view = view_of(ask) if ask else None
    match rejected.why:
        case RejectReason.NOT_ALLOWED if any(
            problem.code in refusals.FORBIDDEN for problem in rejected.problems
        ):
            return marks.text(rejected.problems[0].message)
        case RejectReason.NOT_ALLOWED:
            moved = ask is not None and ask.schedule.escalated and _has_moved(ask)
            label = labels.moved_to_people if moved else labels.not_allowed
            return fill(label, marks.text, who=_who(ask.waits_for if ask else (), labels, marks))
        case RejectReason.ENDED:
            how = _failure(view, marks) or ending_with_person(view, labels, marks) if view else ""
            return fill(labels.has_ended, marks.text, how=how)
        case RejectReason.STALE if not rejected.problems:
            return _stale(ask, view, labels, marks, reader, copy)
        case RejectReason.STALE | RejectReason.INVALID:
            return marks.text("\n".join(problem.message for problem in rejected.problems))
        case RejectReason.NOT_FOUND:
            return marks.text(labels.not_found)
        case RejectReason.UNCHECKED:
            return marks.text(labels.unchecked)


def _failure(view: View, marks: AttributionFormat) -> str:
    """Return what happened to an ask that failed, without the advice for the model; empty if it did not fail."""
    message = view.outcome.message if view.outcome else None
    return marks.text(message.partition(NO_RETRY)[0].rstrip(" .")) if message else ""


def _has_moved(ask: Ask) -> bool:
    escalation = ask.escalation
    return escalation is not None and escalation.to is not None


def _who(responders: Sequence[str], labels: Labels, marks: AttributionFormat) -> str:
    """Return the first responders, marked up, or "the people who were asked" if no name is known."""
    listed = [who for who in responders if who != ANYONE]
    named = [name for who in listed[:MAX_NAMED_IN_NOTE] if (name := marks.responder(who))]
    more = ["…"] if len(listed) > MAX_NAMED_IN_NOTE else []
    return ", ".join([*named, *more]) if named else marks.text(labels.those_asked)


def _stale(
    ask: Ask | None,
    view: View | None,
    labels: Labels,
    marks: AttributionFormat,
    reader: str | None,
    copy: ActedOnVersion | None,
) -> str:
    """Say why an action does not fit the current question: another person was faster, or the copy was out of date."""
    by = ask.last_actor if ask else None
    if ask is not None and view is not None and copy is not None:
        if copy.at - ask.updated_at > _RACE_SECONDS:
            current = marks.text(shorten(_open_question(view, labels), _QUESTION_UNITS))
            return fill(labels.out_of_date, marks.text, question=current)
        if ask.last_action_revision <= copy.revision:
            by = None  # nobody was faster: a timer moved the ask on
    if by is None:
        return marks.text(labels.too_late_unknown)
    if by.user_id == reader:
        return marks.text(labels.too_late_own)
    return fill(labels.too_late, marks.text, name=marks.person(by))
