"""Render a person's inbox, the asks that wait for them, as a message. Pure.

Each entry links to the ask's own message, where it is answered; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.store_values import Page
from answerback.presentation import wording
from answerback_chat.control_codec import NO_ASK, Verb
from answerback_telegram import keyboards, limits
from answerback_telegram.html_text import escape, fit_line, shorten_line
from answerback_telegram.keyboards import Json
from answerback_telegram.parse import INBOX
from answerback_telegram.people_text import timestamp
from answerback_telegram.private_notes import destination_text, link_to
from answerback_telegram.render import compose

ASKS_PER_PAGE: Final = 8
_WHO_BUDGET: Final = 120
_QUESTION_BUDGET: Final = 280


def page(asks: Page[Ask], labels: Labels, open_to_anyone: Sequence[Ask] = ()) -> Json:
    """Render a page of the asks that wait for a person, oldest first.

    Args:
        open_to_anyone: the asks that wait for nobody in particular; only needed if none wait for the person.
    """
    if is_empty(asks):
        text = wording.empty_inbox(
            open_to_anyone, labels, escape, lambda to: destination_text(to, labels)
        )
        return compose([text], [_paging_row(None, labels)])
    entries = [_entry(number, ask, labels) for number, ask in enumerate(asks.rows, 1)]
    return compose([escape(labels.inbox_title, "b"), *entries], [_paging_row(asks.after, labels)])


def commands(labels: Labels) -> list[JsonValue]:
    """Return the commands that Telegram offers when people type a slash."""
    about = fit_line(labels.inbox_command, limits.COMMAND_DESCRIPTION)
    return [{"command": INBOX, "description": about}]


def is_empty(asks: Page[Ask]) -> bool:
    """Whether nothing waits for a person."""
    return not asks.rows and asks.after is None


def _entry(number: int, ask: Ask, labels: Labels) -> str:
    view = view_of(ask, labels)
    who, _ = shorten_line(wording.asks_line(view, labels, briefly=True), _WHO_BUDGET, "i")
    question, _ = shorten_line(wording.subject(view, labels), _QUESTION_BUDGET, "b")
    return f"{number}. {question}\n{who} · {timestamp(ask.created_at)}{link_to(ask)}"


def _paging_row(after: str | None, labels: Labels) -> keyboards.Row:
    row = [keyboards.control_button(NO_ASK, 0, labels.refresh, Verb.INBOX)]
    if after:
        row.append(keyboards.control_button(NO_ASK, 0, labels.next, Verb.INBOX, after))
    return row
