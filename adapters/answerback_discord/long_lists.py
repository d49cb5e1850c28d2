"""A long list in front of one person: its pages and what a search found, on a message that only they see. Pure.

The live message is everybody's, so nobody turns its pages for the others. What is selected in a multi-select is the
ask's own, and is the same on every message.
"""

from __future__ import annotations

from typing import Final

from answerback.core.labels import Labels
from answerback.core.view import View
from answerback_chat.control_codec import Verb
from answerback_chat.sanitize import one_line
from answerback_chat.text_fitting import utf16_length
from answerback_discord import components as c
from answerback_discord import limits, option_controls
from answerback_discord.components import Json
from answerback_discord.markdown_text import escape, fit_line
from answerback_discord.message_fitting import TEXT_BUDGET, TextBlock, fit_blocks
from answerback_discord.option_controls import ListState, control_id, paging_buttons

_QUESTION_ROOM: Final = 600
_FOUND_ROOM: Final = 300


def render_option_list(view: View, labels: Labels, look: ListState, note: str = "") -> Json:
    """A page of the options, of what was found, or in review of the answers that can be edited.

    Args:
        note: what the person is told above it.
    """
    above = [c.text(escape(note))] if note else []
    prompt = view.prompt
    if prompt is None:
        return c.message([*above, *render_edit_menu(view, labels, look)], private=True)
    blocks = [
        TextBlock(prompt.question.text, _QUESTION_ROOM, "**{}**"),
        *option_controls.option_text_blocks(prompt.question, look),
        TextBlock(
            option_controls.selection_text(prompt, look), option_controls.SELECTION_ROOM, "-# ☑ {}"
        ),
        TextBlock(_found(look, labels), _FOUND_ROOM, "-# {}"),
    ]
    texts, _ = fit_blocks(blocks, TEXT_BUDGET - utf16_length(escape(note)))
    parts = [*above, c.text("\n".join(filter(None, texts)))]
    return c.message(
        [*parts, *option_controls.render_option_controls(view, prompt, labels, look)], private=True
    )


def _found(look: ListState, labels: Labels) -> str:
    """How much a search found, where the menu shows only some of it."""
    if look.found is None or len(look.found) <= limits.SELECT_OPTIONS:
        return ""
    words = one_line(look.words[:100])
    return labels.found.format(count=len(look.found), words=words, shown=limits.SELECT_OPTIONS)


def render_edit_menu(view: View, labels: Labels, look: ListState) -> list[Json]:
    """A page of the menu by which an answer is edited in review."""
    editable = [(i, line) for i, line in enumerate(view.lines) if line.editable]
    size = limits.SELECT_OPTIONS
    total = max(1, -(-len(editable) // size))
    page = look.page if look.page < total else 0
    shown = editable[page * size : (page + 1) * size]
    if not shown:
        return []
    place = (
        labels.edit
        if total == 1
        else f"{labels.edit} · {labels.page_of.format(page=page + 1, pages=total)}"
    )
    menu = c.select(
        control_id(view, Verb.EDIT, f"p{page}"),
        [
            c.option(fit_line(f"{i + 1}. {line.question.text}", limits.OPTION_LABEL), str(i))
            for i, line in shown
        ],
        placeholder=fit_line(place, limits.PLACEHOLDER),
    )
    row: Json = {"type": c.ACTION_ROW, "components": [menu]}
    return [row, *c.rows(paging_buttons(view, Verb.PAGE, page, total, labels))]
