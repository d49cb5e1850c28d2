"""Render a person's inbox, the asks that wait for them, as a message that only they see. Pure.

Each entry links to the ask's own message, where it is answered. Permissions can also be decided together, in a modal
that shows their whole contexts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.view import Prompt, view_of
from answerback.ports.store_values import Page
from answerback.presentation import wording
from answerback.presentation.batch_rows import BatchRows
from answerback_chat.control_codec import NO_ASK, Control, Verb
from answerback_chat.inbox_reader import is_empty
from answerback_discord import components as c
from answerback_discord import limits, question_context
from answerback_discord.components import Json
from answerback_discord.markdown_text import escape, fit_button, fit_line, shorten_line
from answerback_discord.parse import SURFACE
from answerback_discord.private_notes import destination_text, message_url

ASKS_PER_PAGE: Final = 8
_WHO_BUDGET: Final = 120
_QUESTION_BUDGET: Final = 280
_ROW_BUDGET: Final = limits.MESSAGE_TEXT // ASKS_PER_PAGE - 10
"""Units of a row in the modal, with its context; all rows of a page fit together."""
_HEADLINE_BUDGET: Final = 180


def page(
    asks: Page[Ask],
    labels: Labels,
    open_to_anyone: Sequence[Ask] = (),
    after: str = "",
    left: int = 0,
) -> Json:
    """Render a page of the asks that wait for a person.

    Args:
        open_to_anyone: the asks that wait for nobody in particular; only needed if none wait for the person.
        after: the cursor of this page.
        left: how many permissions were to be decided together and were not.
    """
    note = [c.text(f"**{escape(labels.batch_left.format(count=left))}**")] if left else []
    if is_empty(asks):
        text = wording.empty_inbox(
            open_to_anyone, labels, escape, lambda to: destination_text(to, labels)
        )
        return c.message(
            [*note, c.text(text), *c.rows(_paging_buttons(None, labels))], private=True
        )
    entries = [_entry(number, ask, labels) for number, ask in enumerate(asks.rows, 1)]
    heading = c.text(f"**{escape(labels.inbox_title)}**")
    rows, buttons = BATCH.of(asks.rows), []
    if any(row.shown is not None for row in rows):
        style = c.ButtonStyle.PRIMARY
        buttons.append(_inbox_button(labels.allow_several, after, Verb.ALLOW_SEVERAL, style))
    if rows:
        buttons.append(_inbox_button(labels.deny_several, after, Verb.DENY_SEVERAL))
    buttons += _paging_buttons(asks.after, labels)
    return c.message([*note, heading, *entries, *c.rows(buttons)], private=True)


def _whole_context(prompt: Prompt) -> str | None:
    _, is_cut = shorten_line(prompt.question.text, _HEADLINE_BUDGET)
    context = question_context.CONTEXT.render_context(prompt, _ROW_BUDGET - _HEADLINE_BUDGET)
    whole = context.fitted.says_all and not is_cut
    return context.text if whole else None


BATCH: Final = BatchRows(_whole_context)


def batch_modal(asks: Page[Ask], control: Control, labels: Labels, *, allow: bool) -> Json | None:
    """Return the `data` of the modal in which permissions are ticked; None if no permission is left."""
    rows = BATCH.decidable(asks.rows, allow=allow)
    if not rows:
        return None
    label = labels.allow_once if allow else labels.deny
    texts, options = [], []
    for number, row in enumerate(rows, 1):
        shown, _ = shorten_line(row.text, _HEADLINE_BUDGET)
        texts.append("\n".join(filter(None, (f"**{number}. {shown}**", row.shown))))
        options.append(c.option(fit_line(f"{number}. {row.text}", limits.OPTION_LABEL), row.tick))
    bounds = {"min_values": 1, "max_values": len(options)}
    boxes = c.choice_group(c.CHECKBOX_GROUP, "ticked", options, required=True, **bounds)
    return {
        "custom_id": control.encode(),
        "title": fit_line(label, limits.MODAL_TITLE),
        "components": [
            c.text("\n".join(texts)),
            {"type": c.LABEL, "label": fit_line(label, limits.LABEL_TEXT), "component": boxes},
        ],
    }


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
    if ask.placement.destination.surface != SURFACE:
        return ask.placement.thread.url if ask.placement.thread else None
    return (
        message_url(ask.placement.message)
        if ask.placement.message and "id" in ask.placement.message
        else None
    )


def _paging_buttons(after: str | None, labels: Labels) -> list[Json]:
    return [
        _inbox_button(labels.refresh),
        *([_inbox_button(labels.next, after)] if after else []),
    ]


def _inbox_button(
    label: str,
    after: str = "",
    verb: Verb = Verb.INBOX,
    style: c.ButtonStyle = c.ButtonStyle.SECONDARY,
) -> Json:
    return c.button(fit_button(label), Control(NO_ASK, 0, verb, after).encode(), style)
