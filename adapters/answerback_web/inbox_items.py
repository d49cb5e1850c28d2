"""What the inbox and the history show, as plain values for the templates; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from answerback.core.ask import Ask, Status
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback_chat import wording
from answerback_chat.sanitize import one_line
from answerback_chat.text_fitting import shorten
from answerback_web import attribution, limits
from answerback_web.history_filters import Filters


@dataclass(frozen=True, slots=True)
class InboxItem:
    """One ask in a list."""

    ask_id: str
    label: str
    text: str
    progress: str | None
    outcome: str | None
    """How it ended, as a class of the stylesheet; None while it is open."""
    ended: str | None
    """How it ended and by whom, in words."""
    at: float
    """Since when it waits, or when it ended."""
    age: str


@dataclass(frozen=True, slots=True)
class InboxPage:
    """A page of a list; ``after`` is the next page's cursor."""

    items: tuple[InboxItem, ...]
    after: str | None
    first: bool


@dataclass(frozen=True, slots=True)
class SearchForm:
    """What the search form offers."""

    filled: Filters
    statuses: Mapping[str, str]
    agents: Mapping[str, str]
    """The agents' labels by their names; none where no agent has a token."""
    people: Sequence[str] | None
    """Who may be looked for; None: only the visitor's own answers can be found."""
    wrong: str | None = None
    """A mistake in what was filled in."""


def inbox_page(
    asks: Sequence[Ask], labels: Labels, *, now: float, after: str | None, first: bool
) -> InboxPage:
    """A list as it stands at ``now`` (seconds since the epoch)."""
    return InboxPage(tuple(_item(ask, labels, now) for ask in asks), after, first)


def statuses(labels: Labels, *, own: bool) -> dict[str, str]:
    """The statuses to choose from, in words. Of their own asks somebody sees the open ones or the ended ones."""
    named = {
        Status.OPEN: labels.status_open,
        Status.ANSWERED: labels.answered,
        Status.CANCELLED: labels.cancelled,
        Status.TURN_ENDED: labels.turn_ended,
        Status.EXPIRED: labels.expired,
        Status.WITHDRAWN: labels.withdrawn.format(label="…"),
        Status.FAILED: labels.failed,
    }
    every = {"": labels.filter_mine if own else labels.filter_any}
    return every | {status.value: text for status, text in named.items()}


def _item(ask: Ask, labels: Labels, now: float) -> InboxItem:
    view = view_of(ask)
    questions = ask.form.questions
    asked = view.prompt.question if view.prompt else questions[0] if questions else None
    text = labels.review_title if view.is_review else asked.text if asked else labels.erased
    outcome = view.outcome
    at = outcome.at if outcome else ask.created_at
    by = attribution.byline(outcome.ended_by, labels) if outcome else None
    return InboxItem(
        ask_id=ask.id,
        label=one_line(wording.who_asks(view, labels, briefly=True)),
        text=shorten(one_line(text), limits.EXCERPT_LENGTH),
        progress=view.prompt.progress if view.prompt else None,
        outcome=outcome.status.value if outcome else None,
        ended=" ".join(filter(None, (wording.ending(view, labels), by))) or None,
        at=at,
        age=_age(now - at, labels),
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
