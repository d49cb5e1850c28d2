"""Answers, people and endings as people on Slack read them. Pure."""

from __future__ import annotations

from typing import Final

from answerback.core.ask import Status
from answerback.core.labels import Labels
from answerback.core.view import Line, View
from answerback.core.walker import Person
from answerback_chat import messages, outline, texts
from answerback_chat.sanitize import visible
from answerback_slack import limits
from answerback_slack.blocks import escape, escape_within

NAME_ROOM: Final = 160
_MARKS: Final = {
    Status.ANSWERED: "✓", Status.CANCELLED: "✎", Status.TURN_ENDED: "■", Status.EXPIRED: "⌛",
    Status.WITHDRAWN: "↩", Status.FAILED: "⚠",
}  # fmt: skip


def ending(view: View, labels: Labels) -> str:
    """How it ended and by whom, as mrkdwn that a context holds."""
    if view.outcome is None:
        raise AssertionError("only an ended ask has an ending")
    by, source = view.outcome.ended_by, view.outcome.source
    added = "" if by is None else " " + escape(labels.by).format(name=who(by))
    if note := messages.source_note(source, labels) if source else None:
        added += f" ({escape(note)})"
    mark = f"{_MARKS[view.outcome.status]} "
    room = limits.CONTEXT_TEXT - texts.units(mark + added)
    return mark + escape_within(messages.ending(view, labels), room) + added


def who(person: Person) -> str:
    """A person as mrkdwn: the name they are known by, or for somebody on Slack their live name."""
    if person.name is None and person.surface == "slack":
        return f"<@{person.user_id}>"
    return escape(texts.shorten(messages.name_of(person), NAME_ROOM))


def answered(line: Line, labels: Labels) -> str:
    """A question that was walked and, below it, what was answered; still to be escaped."""
    return f"{visible(line.question.text)}\n➜ {given(line, labels)}"


def given(line: Line, labels: Labels, between: str = "\n➜ ") -> str:
    """An answer as people read it."""
    return between.join(map(visible, outline.answer_texts(line, labels)))
