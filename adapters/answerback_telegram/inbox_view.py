"""Render a person's inbox, the asks that wait for them, as a message. Pure.

Each entry links to the ask's own message, where it is answered. Permissions can also be ticked and decided together;
those that can be allowed so show their whole contexts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.view import Prompt, view_of
from answerback.ports.commands import COMMAND
from answerback.ports.store_values import Page
from answerback.presentation import wording
from answerback.presentation.attribution import utc_time
from answerback.presentation.batch_rows import BatchRow, BatchRows
from answerback_chat.control_codec import NO_ASK, Verb
from answerback_chat.inbox_reader import is_empty
from answerback_chat.ticked_inbox import ticked_digest
from answerback_telegram import keyboards, limits, question_context
from answerback_telegram.html_text import escape, fit_line, shorten_line
from answerback_telegram.keyboards import Json
from answerback_telegram.parse import CANCEL, HELP, INBOX
from answerback_telegram.people_text import Names
from answerback_telegram.private_notes import destination_text, link_to
from answerback_telegram.render import NO_NAMES, compose

ASKS_PER_PAGE: Final = 6
_WHO_BUDGET: Final = 100
_QUESTION_BUDGET: Final = 160
_CONTEXT_BUDGET: Final = 300
"""Units of a context; with all that is beside it, a page of them fits a message."""
_MOST_MARKS: Final = limits.ENTITIES // ASKS_PER_PAGE - 6
"""Marks in a context, so that none in the message is lost."""
_TICKED, _UNTICKED = "☑", "☐"


def page(
    asks: Page[Ask],
    labels: Labels,
    open_to_anyone: Sequence[Ask] = (),
    ticked: Sequence[str] = (),
    note: str = "",
    names: Names = NO_NAMES,
) -> Json:
    """Render a page of the asks that wait for a person.

    Args:
        open_to_anyone: the asks that wait for nobody in particular; only needed if none wait for the person.
        ticked: the permissions that are ticked, to be decided together.
        note: what to tell the person above the list.
        names: the known names of the chats where asks are open to anyone.
    """
    heading = escape(note, "b")
    if is_empty(asks):
        text = wording.empty_inbox(
            open_to_anyone, labels, escape, lambda to: destination_text(to, labels, names)
        )
        return compose([heading, text], [_paging_row(None, labels)])
    rows = {row.ask.id: row for row in BATCH.of(asks.rows)}
    entries = [
        _entry(number, ask, labels, rows.get(ask.id)) for number, ask in enumerate(asks.rows, 1)
    ]
    boxes = [
        keyboards.control_button(
            ask.id,
            ask.revision,
            f"{_TICKED if rows[ask.id].tick in ticked else _UNTICKED} {number}",
            Verb.TICK,
        )
        for number, ask in enumerate(asks.rows, 1)
        if ask.id in rows
    ]
    keyboard = [*keyboards.rows(boxes, ASKS_PER_PAGE), _decision_row(rows.values(), ticked, labels)]
    return compose(
        [heading, escape(labels.inbox_title, "b"), *entries],
        [*keyboard, _paging_row(asks.after, labels)],
    )


def _whole_context(prompt: Prompt) -> str | None:
    _, is_cut = shorten_line(prompt.question.text, _QUESTION_BUDGET)
    context = question_context.CONTEXT.render_context(prompt, _CONTEXT_BUDGET)
    whole = context.fitted.says_all and not is_cut
    return context.text if whole and context.text.count("</") <= _MOST_MARKS else None


BATCH: Final = BatchRows(_whole_context)


def commands(labels: Labels, *, offered: bool) -> list[JsonValue]:
    """Return the commands that Telegram offers when people type a slash; ``offered``: whether ours has any use."""
    texts = {INBOX: labels.inbox_command, CANCEL: labels.cancel_command, HELP: labels.help_command}
    texts |= {COMMAND: labels.commands} if offered else {}
    return [
        {"command": name, "description": fit_line(text, limits.COMMAND_DESCRIPTION)}
        for name, text in texts.items()
    ]


def _entry(number: int, ask: Ask, labels: Labels, row: BatchRow[str] | None) -> str:
    view = view_of(ask, labels)
    who, _ = shorten_line(wording.asks_line(view, labels, briefly=True), _WHO_BUDGET, "i")
    text = wording.subject(view, labels) if row is None or row.shown is None else row.text
    question, _ = shorten_line(text, _QUESTION_BUDGET, "b")
    below = row.shown if row else ""
    if below is None:
        below = escape(labels.batch_open)
    lines = (
        f"{number}. {question}",
        below,
        f"{who} · {utc_time(ask.created_at)}{link_to(ask)}",
    )
    return "\n".join(filter(None, lines))


def _decision_row(
    rows: Iterable[BatchRow[str]], ticked: Sequence[str], labels: Labels
) -> keyboards.Row:
    """The buttons that decide about what is ticked; allowing only if some of that is shown whole."""
    chosen = [row for row in rows if row.tick in ticked]
    verbs = [(labels.deny, Verb.DENY_SEVERAL, keyboards.DANGER)] if chosen else []
    if any(row.shown is not None for row in chosen):
        verbs.insert(0, (labels.allow_once, Verb.ALLOW_SEVERAL, ""))
    digest = ticked_digest(ticked)
    return [
        keyboards.control_button(NO_ASK, 0, f"{name} ({len(chosen)})", verb, digest, style)
        for name, verb, style in verbs
    ]


def _paging_row(after: str | None, labels: Labels) -> keyboards.Row:
    row = [keyboards.control_button(NO_ASK, 0, labels.refresh, Verb.INBOX)]
    if after:
        row.append(keyboards.control_button(NO_ASK, 0, labels.next, Verb.INBOX, after))
    return row
