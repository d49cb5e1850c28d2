"""Render everything that a view says in full, as pages of a private message. Pure."""

from __future__ import annotations

from typing import Final

from answerback.core.form import AnswerType
from answerback.core.labels import Labels
from answerback.core.view import Prompt, View
from answerback.presentation.control_buttons import PlannedButton, option_button
from answerback.presentation.full_text import Kind, Part, full_text
from answerback.presentation.option_controls import chosen_indexes
from answerback.presentation.text_blocks import pages_of
from answerback.presentation.text_fitting import utf16_length
from answerback_chat.control_codec import Verb
from answerback_discord import components as c
from answerback_discord import limits, question_context
from answerback_discord.components import Json
from answerback_discord.markdown_text import escape, shorten_line, split_into_pieces
from answerback_discord.option_controls import (
    OPTIONS,
    ListState,
    buttons,
    paging_buttons,
    selection_text,
)
from answerback_discord.people_text import MARKS

PAGE_BUDGET: Final = limits.MESSAGE_TEXT - 200
_TITLE_BUDGET: Final = 300


def page(
    view: View, verb: Verb, number: int, labels: Labels, list_state: ListState | None = None
) -> Json:
    """Render one page of what `Verb.SHOW_IN_FULL` or `Verb.PREVIEW` shows, with Previous and Next."""
    if verb is Verb.PREVIEW and view.prompt is not None:
        return _render_preview(view, view.prompt, number, labels)
    selected = selection_text(view.prompt, list_state or ListState()) if view.prompt else ""
    shown = full_text(view, labels, MARKS, f"☑ {selected}" if selected else "")
    pages = pages_of(shown, _split, _fits)
    number = number if 0 <= number < len(pages) else 0
    parts = [c.text(pages[number])]
    if len(pages) > 1:
        parts.append(
            c.text(f"-# {escape(labels.page_of.format(page=number + 1, pages=len(pages)))}")
        )
        parts += c.rows(paging_buttons(view, verb, number, len(pages), labels))
    return c.message(parts, private=True)


def _render_preview(view: View, prompt: Prompt, number: int, labels: Labels) -> Json:
    """One page of the options' previews, with the button that chooses its option."""
    pages = [
        (i, page)
        for i, option in enumerate(prompt.question.options)
        if option.preview
        for page in _preview_pages(prompt, f"{i + 1}. {option.label}", option.preview)
    ]
    if not pages:
        return c.message([c.text(escape("…"))], private=True)
    number = number if 0 <= number < len(pages) else 0
    index, text = pages[number]
    parts = [c.text(text)]
    if len(pages) > 1:
        where = labels.page_of.format(page=number + 1, pages=len(pages))
        parts.append(c.text(f"-# {escape(where)}"))
    planned = []
    if prompt.question.answer_type is AnswerType.SELECT:
        [name] = OPTIONS.option_labels(prompt.question, [index])
        planned.append(option_button(prompt.question, name, index, chosen_indexes(prompt)))
    # Show in full has the same preview as its author wrote it.
    planned.append(PlannedButton(labels.details, Verb.SHOW_IN_FULL, "0"))
    turns = paging_buttons(view, Verb.PREVIEW, number, len(pages), labels)
    return c.message([*parts, *c.rows([*turns, *buttons(view, planned)])], private=True)


def _preview_pages(prompt: Prompt, title: str, preview: str) -> list[str]:
    """A preview rendered as Markdown on one page, or if it does not fit, as it was written on several pages."""
    heading, _ = shorten_line(title, _TITLE_BUDGET)
    question = prompt.question.model_copy(update={"context": preview})
    rendered = question_context.CONTEXT.render_context(
        prompt._replace(question=question), PAGE_BUDGET - _TITLE_BUDGET - len("****\n")
    )
    if rendered.fitted.whole and rendered.text:
        return [f"**{heading}**\n{rendered.text}"]
    return pages_of([Part(f"**{heading}**", Kind.MARKUP), Part(preview)], _split, _fits)


def _split(text: str, kind: Kind) -> list[str]:
    pieces = split_into_pieces(text)
    return [f"**{piece}**" for piece in pieces] if kind is Kind.TITLE else pieces


def _fits(page: str) -> bool:
    return utf16_length(page) <= PAGE_BUDGET
