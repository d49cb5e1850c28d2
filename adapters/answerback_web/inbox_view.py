"""The contents of the inbox and the history, as plain values for the templates; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from markupsafe import Markup

from answerback.core.ask import Ask, Status
from answerback.core.granting import describe_match
from answerback.core.grants import Grant
from answerback.core.labels import Labels
from answerback.core.urgency import RouteMark, Urgency
from answerback.core.view import view_of
from answerback.presentation import answer_summary, durations, wording
from answerback.presentation.attribution import utc_clock
from answerback.presentation.batch_rows import BatchRows, whole_prompt
from answerback.presentation.list_row import row_detail
from answerback.presentation.text_fitting import shorten, utf16_length
from answerback_base.sanitize import one_line, visible
from answerback_web import limits, people_text, question_context
from answerback_web.history_filters import Filters

_FIRST_COMMAND: Final = re.compile(r"(`{3,})\w*\n([^\n]*)\n\1(?:\n+|\Z)")
"""The block of code that a context begins with, if it has one line."""


@dataclass(frozen=True, slots=True)
class InboxItem:
    """One ask in a list."""

    ask_id: str
    asker: str
    label: str
    """Who asks, and whether they still wait."""
    urgency: Urgency
    mark: RouteMark | None
    text: str
    detail: str
    """The other parts of the open question, as one line."""
    waits: str
    """A line that says that it waits, and from which agent: all that a notification says."""
    waits_since: float
    """When it began to wait as it does, or was handed over, in seconds since it was asked."""
    push_after: float
    """Seconds after which it is worth a notification."""
    progress: str | None
    agent_left: bool
    """True once the agent has stopped waiting."""
    outcome: str | None
    """The CSS class of its outcome; None while it is open."""
    ended: Markup
    """A line that says how it ended and by whom; empty while it is open."""
    answer: str
    """The answers as text; empty if there are none."""
    waited: str
    """The time that it waited for its end; empty while it is open."""
    collected: Markup
    """A line that says if its agent knows how it ended; empty while it is open."""
    at: float
    """When it was asked: lists have this order."""
    age: str
    pick: str | None = None
    """The value of its tick box; None if it is not decided together with others."""
    whole: bool = False
    """True if its whole context stands in its row, so that it can be allowed there."""
    context: Markup | None = None


class GrantRow(NamedTuple):
    link: str
    text: str
    about: str
    """Which agent may do it, until when, how often, and who allowed it."""


def grant_row(grant: Grant, link: str, labels: Labels) -> GrantRow:
    about = labels.grant_row.format(
        agent=grant.agent,
        folder=grant.folder,
        time=utc_clock(grant.until),
        use=grant.used,
        uses=grant.uses,
        name=wording.display_name(grant.by),
    )
    return GrantRow(
        link, visible(describe_match(grant.match, grant.subject, labels)), one_line(about)
    )


class InboxGroup(NamedTuple):
    """Asks that stand together."""

    title: str
    is_of_urgency: bool
    """True if the title says how urgent they are, and not who asks."""
    rows: list[InboxItem]


@dataclass(frozen=True, slots=True)
class InboxPage:
    """A page of a list; ``after`` is the next page's cursor."""

    items: tuple[InboxItem, ...]
    after: str | None
    first: bool

    def groups(self, labels: Labels) -> list[InboxGroup]:
        """The asks by who asks and in which project, whoever has waited longest first; what is more urgent than most
        stands above all of them, and what is less urgent below."""
        groups: dict[tuple[Urgency, str], InboxGroup] = {}
        for item in self.items:
            urgency = wording.urgency_text(item.urgency, labels)
            title = urgency or item.asker
            group = groups.setdefault((item.urgency, title), InboxGroup(title, bool(urgency), []))
            group.rows.append(item)
        return [*groups.values()]


@dataclass(frozen=True, slots=True)
class SearchForm:
    filled: Filters
    statuses: Mapping[str, str]
    agents: Mapping[str, str]
    """The agents' labels by name; empty if no agent has a token."""
    people: Sequence[str] | None
    """The people to search for; None: the visitor can only find their own answers."""
    wrong: str | None = None
    """The error in the filters, if any."""


def inbox_page(
    asks: Sequence[Ask], labels: Labels, *, now: float, after: str | None, first: bool
) -> InboxPage:
    """Return a page of a list, with ages as of ``now`` (seconds since the epoch)."""
    return InboxPage(tuple(_item(ask, labels, now) for ask in asks), after, first)


def statuses(labels: Labels, *, own: bool) -> dict[str, str]:
    """Return the statuses to choose from and their labels.

    Args:
        own: whether the visitor only sees the asks that they answered.
    """
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
    status = wording.ending_status(view)
    item = InboxItem(
        ask_id=ask.id,
        asker=one_line(view.label),
        label=one_line(wording.who_asks(view, labels, briefly=True)),
        urgency=view.urgency,
        mark=view.mark,
        text=one_line(wording.subject(view, labels)),
        detail=shorten(row_detail(ask, view), limits.DETAIL_LENGTH),
        waits=wording.waits_line(ask, labels),
        waits_since=ask.schedule.reminders_restarted_at,
        push_after=ask.request.push_after,
        progress=view.prompt.progress if view.prompt else None,
        agent_left=view.agent_left,
        outcome=status.value if status else None,
        ended=people_text.ended(view, labels),
        answer=shorten(one_line(answer_summary.brief_answer(view, labels)), limits.DETAIL_LENGTH),
        waited=durations.waited(view, labels),
        collected=people_text.collected(view, labels),
        at=ask.created_at,
        age=durations.age(now - ask.created_at, labels),
    )
    if not BatchRows(lambda prompt: prompt).of([ask]):
        return item
    rest = _rest_of_whole(ask)
    context = (
        question_context.render_source(rest, ask.form.context_format, labels) if rest else None
    )
    return replace(
        item, pick=f"{ask.id}:{ask.revision}", whole=rest is not None, context=context or None
    )


def is_whole_in_row(ask: Ask) -> bool:
    """Return True if the row of a permission shows all that is to be decided on, so that it can be allowed there."""
    return _rest_of_whole(ask) is not None


def _rest_of_whole(ask: Ask) -> str | None:
    """Return what a row shows below its headline to show all that is to be decided on; None if that is too much."""
    prompt = whole_prompt(ask)
    if prompt is None:
        return None
    rest = _without_headline(prompt.question.context or "", one_line(prompt.question.text))
    lines = [line for line in visible(rest).split("\n") if line.strip() and line[:3] != "```"]
    fits = len(lines) <= limits.ROW_LINES and utf16_length("".join(lines)) <= limits.ROW_UNITS
    return rest if fits else None


def _without_headline(context: str, headline: str) -> str:
    """Return a context without the command at its beginning, if that is one line and the headline states it whole."""
    command = _FIRST_COMMAND.match(context)
    if command is None or headline != f"Run {visible(command[2])}":
        return context
    return context[command.end() :]
