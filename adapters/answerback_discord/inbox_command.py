"""What waits for one person, on a message that only they see. Pure.

Each entry leads to the ask's own message, where it is answered: nothing is decided here.
"""

from __future__ import annotations

from typing import Final

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.store_values import Page
from answerback_chat.control_codec import NO_ASK, Verb, encode
from answerback_chat.wording import asks_line
from answerback_discord import components as c
from answerback_discord.components import Json
from answerback_discord.markdown_text import escape, fit_button, shorten_line
from answerback_discord.private_notes import message_url

ASKS_PER_PAGE: Final = 8
_WHO_ROOM: Final = 120
_QUESTION_ROOM: Final = 280


def page(found: Page[Ask], labels: Labels) -> Json:
    """A page of the asks that wait for a person, the oldest first."""
    if not found.rows and found.after is None:
        return c.message(
            [c.text(escape(labels.inbox_empty)), *_turning(None, labels)], private=True
        )
    entries = [_entry(number, ask, labels) for number, ask in enumerate(found.rows, 1)]
    heading = c.text(f"**{escape(labels.inbox_title)}**")
    return c.message([heading, *entries, *_turning(found.after, labels)], private=True)


def _entry(number: int, ask: Ask, labels: Labels) -> Json:
    """An ask; its number tells its button from the others where they are read out."""
    view = view_of(ask)
    who, _ = shorten_line(asks_line(view, labels, briefly=True), _WHO_ROOM)
    words = view.prompt.question.text if view.prompt else labels.review_title
    question, _ = shorten_line(words, _QUESTION_ROOM)
    # Discord writes the time as each reader's client has it:
    # https://docs.discord.com/developers/reference#message-formatting
    text = f"-# {who} · <t:{int(ask.created_at)}:R>\n**{number}. {question}**"
    if not (ask.message and "id" in ask.message):
        return c.text(text)  # it is still to be posted
    label = fit_button(f"{labels.open_message} {number}")
    return c.section(text, c.link_button(label, message_url(ask.message)))


def _turning(after: str | None, labels: Labels) -> list[Json]:
    buttons = [_button(labels.refresh)]
    return c.rows([*buttons, _button(labels.next, after)] if after else buttons)


def _button(label: str, after: str = "") -> Json:
    return c.button(fit_button(label), encode(NO_ASK, 0, Verb.INBOX, after))
