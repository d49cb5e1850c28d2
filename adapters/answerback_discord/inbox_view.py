"""Render a person's inbox, the asks that wait for them, as a message that only they see. Pure.

Each entry links to the ask's own message, where it is answered; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.store_values import Page
from answerback.presentation import wording
from answerback_chat.control_codec import NO_ASK, Verb, encode
from answerback_discord import components as c
from answerback_discord.components import Json
from answerback_discord.markdown_text import escape, fit_button, shorten_line
from answerback_discord.parse import SURFACE
from answerback_discord.private_notes import destination_text, message_url

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
        return c.message([c.text(text), *_paging_rows(None, labels)], private=True)
    entries = [_entry(number, ask, labels) for number, ask in enumerate(asks.rows, 1)]
    heading = c.text(f"**{escape(labels.inbox_title)}**")
    return c.message([heading, *entries, *_paging_rows(asks.after, labels)], private=True)


def is_empty(asks: Page[Ask]) -> bool:
    """Whether nothing waits for a person."""
    return not asks.rows and asks.after is None


def _entry(number: int, ask: Ask, labels: Labels) -> Json:
    """An ask. Its number distinguishes its button from the others for screen readers."""
    view = view_of(ask)
    who, _ = shorten_line(wording.asks_line(view, labels, briefly=True), _WHO_BUDGET)
    question, _ = shorten_line(wording.subject(view, labels), _QUESTION_BUDGET)
    # Each reader's client formats the time:
    # https://docs.discord.com/developers/reference#message-formatting
    text = f"-# {who} · <t:{int(ask.created_at)}:R>\n**{number}. {question}**"
    if (url := _url(ask)) is None:
        return c.text(text)  # not posted yet
    return c.section(text, c.link_button(fit_button(f"{labels.open_message} {number}"), url))


def _url(ask: Ask) -> str | None:
    """Return the address of the ask's message, which may be on another surface where the person has an account."""
    if ask.destination.surface != SURFACE:
        return ask.thread.url if ask.thread else None
    return message_url(ask.message) if ask.message and "id" in ask.message else None


def _paging_rows(after: str | None, labels: Labels) -> list[Json]:
    buttons = [_inbox_button(labels.refresh)]
    return c.rows([*buttons, _inbox_button(labels.next, after)] if after else buttons)


def _inbox_button(label: str, after: str = "") -> Json:
    return c.button(fit_button(label), encode(NO_ASK, 0, Verb.INBOX, after))
