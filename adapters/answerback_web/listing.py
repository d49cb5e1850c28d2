"""What the inbox shows, as plain values for the templates; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback_chat import messages
from answerback_chat.sanitize import one_line
from answerback_chat.texts import shorten
from answerback_web import limits


@dataclass(frozen=True, slots=True)
class InboxItem:
    """One open ask in the inbox."""

    ask_id: str
    label: str
    text: str
    progress: str | None
    created_at: float
    age: str


@dataclass(frozen=True, slots=True)
class InboxPage:
    """A page of the inbox; ``after`` is the next page's cursor."""

    items: tuple[InboxItem, ...]
    after: str | None
    first: bool


def inbox_page(
    asks: Sequence[Ask], labels: Labels, *, now: float, after: str | None, first: bool
) -> InboxPage:
    """The inbox as it stands at ``now`` (seconds since the epoch)."""
    return InboxPage(tuple(_item(ask, labels, now) for ask in asks), after, first)


def _item(ask: Ask, labels: Labels, now: float) -> InboxItem:
    view = view_of(ask)
    text = view.prompt.question.text if view.prompt else labels.review_title
    return InboxItem(
        ask_id=ask.id,
        label=one_line(messages.who_asks(view, labels)),
        text=shorten(one_line(text), limits.FIRST_WORDS),
        progress=view.prompt.progress if view.prompt else None,
        created_at=ask.created_at,
        age=_age(now - ask.created_at, labels),
    )


def _age(seconds: float, labels: Labels) -> str:
    minutes = int(seconds // 60)
    if minutes < 1:
        return labels.age_now
    if minutes < 60:
        return labels.age_minutes.format(n=minutes)
    if minutes < 60 * 48:
        return labels.age_hours.format(n=minutes // 60)
    return labels.age_days.format(n=minutes // (60 * 24))
