"""Answers, people and endings, formatted for people on Slack. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from answerback.core.ask import Status
from answerback.core.labels import Labels
from answerback.core.view import Line, View
from answerback.core.walker import Person
from answerback.presentation import answer_summary, attribution, durations, text_fitting, wording
from answerback.presentation.attribution import AttributionFormat
from answerback.presentation.sanitize import visible
from answerback_slack.blocks import clock_mrkdwn, date_mrkdwn, escape, escape_within

NAME_ROOM: Final = 160
_SENTENCE_ROOM: Final = 300
"""Units of a sentence about people, without their names."""
NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})
"""For when no responder's name is known."""
_MARKS: Final = {
    Status.ANSWERED: "✓", Status.CANCELLED: "✎", Status.TURN_ENDED: "■", Status.EXPIRED: "⌛",
    Status.WITHDRAWN: "↩", Status.FAILED: "⚠",
}  # fmt: skip


def ending_mrkdwn(view: View, labels: Labels) -> str:
    """How the ask ended and by whom, as mrkdwn that fits a context block."""
    if view.outcome is None:
        raise AssertionError("only an ended ask has an ending")
    status, source = wording.ending_status(view), view.outcome.source
    note = wording.source_note(source, labels) if source else None
    about = f" ({escape(note)})" if note and status is view.outcome.status else ""
    ending = wording.ending_with_person(view, labels, attribution_format(NO_NAMES))
    return (
        f"{_MARKS[status or view.outcome.status]} {ending} · {date_mrkdwn(view.outcome.at)}{about}"
        f" · {escape(durations.waited(view, labels))}"
    )


def person_mrkdwn(person: Person) -> str:
    """A person as mrkdwn: their recorded name, or a mention if they are on Slack and have none."""
    if person.name is None and person.surface == "slack":
        return f"<@{person.user_id}>"
    return escape(text_fitting.shorten(wording.display_name(person), NAME_ROOM))


def _escape_sentence(text: str) -> str:
    return escape_within(text, _SENTENCE_ROOM)


def attribution_format(names: Mapping[str, str]) -> AttributionFormat:
    """The mrkdwn format of lines about people.

    Args:
        names: the names or mentions of responders, by id.
    """

    def responder(who: str) -> str | None:
        name = attribution.responder_name("slack", who)
        return names.get(who) if name is None else escape(text_fitting.shorten(name, NAME_ROOM))

    return AttributionFormat(_escape_sentence, responder, person_mrkdwn, date_mrkdwn, clock_mrkdwn)


def audience(view: View, labels: Labels, names: Mapping[str, str]) -> str:
    """Who may answer and until when, as mrkdwn; see `attribution_format`."""
    return attribution.audience_line(
        view.responders, view.closes_at, labels, attribution_format(names)
    )


def question_and_answer(line: Line, labels: Labels) -> str:
    """A question with its answer below it; not escaped yet."""
    return f"{visible(line.text)}\n➜ {answer_text(line, labels)}"


def answer_text(line: Line, labels: Labels, between: str = "\n➜ ") -> str:
    return between.join(map(visible, answer_summary.answer_texts(line, labels)))
