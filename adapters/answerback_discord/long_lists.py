"""Render a long list for one person: its pages and the results of a search, on a message that only they see. Pure.

Everyone shares the live message, so nobody turns its pages for the others. The selection of a multi-select belongs to
the ask, and is the same on every message.
"""

from __future__ import annotations

from typing import Final

from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.presentation import answer_summary
from answerback.presentation.text_blocks import TextBlock
from answerback.presentation.text_fitting import utf16_length
from answerback_base.sanitize import one_line
from answerback_chat.control_codec import Verb
from answerback_discord import components as c
from answerback_discord import limits, option_controls
from answerback_discord.components import Json
from answerback_discord.markdown_text import FITTER, TEXT_BUDGET, escape, fit_line
from answerback_discord.option_controls import ListState, control_id, paging_buttons

_QUESTION_BUDGET: Final = 600
_FOUND_BUDGET: Final = 300
_PREFILL_BUDGET: Final = 300


def render_option_list(view: View, labels: Labels, state: ListState, note: str = "") -> Json:
    """Render a page of the options, of the search results, or in review of the editable answers.

    Args:
        note: a message to the person, above the list.
    """
    above = [c.text(escape(note))] if note else []
    prompt = view.prompt
    if prompt is None:
        return c.message([*above, *render_edit_menu(view, labels, state)], private=True)
    blocks = [
        TextBlock(prompt.question.text, "**{}**", _QUESTION_BUDGET),
        *option_controls.option_text_blocks(prompt.question, state),
        TextBlock(
            option_controls.selection_text(prompt, state),
            "-# ☑ {}",
            option_controls.SELECTION_BUDGET,
        ),
        *(
            TextBlock(text, "-# {}", _PREFILL_BUDGET)
            for text in answer_summary.prefill_texts(prompt, labels)
        ),
        TextBlock(_result_count(state, labels), "-# {}", _FOUND_BUDGET),
    ]
    texts, _ = FITTER.fit(blocks, TEXT_BUDGET - utf16_length(escape(note)))
    parts = [*above, c.text("\n".join(filter(None, texts)))]
    return c.message(
        [*parts, *option_controls.render_option_controls(view, prompt, labels, state)], private=True
    )


def _result_count(state: ListState, labels: Labels) -> str:
    """The number of search results, if the menu shows only some of them."""
    if state.found is None or len(state.found) <= limits.SELECT_OPTIONS:
        return ""
    query = one_line(state.query[:100])
    return labels.found.format(count=len(state.found), text=query, shown=limits.SELECT_OPTIONS)


def render_edit_menu(view: View, labels: Labels, state: ListState) -> list[Json]:
    """Render a page of the menu that selects an answer to edit in review."""
    editable = [(i, line) for i, line in enumerate(view.lines) if line.editable]
    size = limits.SELECT_OPTIONS
    total = max(1, -(-len(editable) // size))
    page = state.page if state.page < total else 0
    shown = editable[page * size : (page + 1) * size]
    if not shown:
        return []
    placeholder = (
        labels.edit
        if total == 1
        else f"{labels.edit} · {labels.page_of.format(page=page + 1, pages=total)}"
    )
    menu = c.select(
        control_id(view, Verb.EDIT, f"p{page}"),
        [
            c.option(fit_line(f"{i + 1}. {line.text}", limits.OPTION_LABEL), str(i))
            for i, line in shown
        ],
        placeholder=fit_line(placeholder, limits.PLACEHOLDER),
    )
    row: Json = {"type": c.ACTION_ROW, "components": [menu]}
    return [row, *c.rows(paging_buttons(view, Verb.PAGE, page, total, labels))]
