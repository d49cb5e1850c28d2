"""Render the options of a question as buttons, sections and menus: paged, searchable, numbered, and complete. Pure.

What a person has done to a list without answering yet (a page, a search, a selection in a menu) is a `ListState`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from answerback.core.form import Question
from answerback.core.labels import Labels
from answerback.core.view import Prompt, View
from answerback.presentation.control_buttons import (
    PlannedButton,
    free_text_buttons,
    option_button,
    option_buttons,
)
from answerback.presentation.option_controls import (
    OptionLimits,
    chosen_indexes,
    is_several,
    option_line,
    selected_indexes,
    selection_digest,
)
from answerback.presentation.text_blocks import TextBlock
from answerback_chat.control_codec import Control, Verb
from answerback_discord import components as c
from answerback_discord import limits
from answerback_discord.components import ButtonStyle, Json
from answerback_discord.form_inputs import allows_note
from answerback_discord.markdown_text import fit_button, fit_line


@dataclass(frozen=True, slots=True)
class ListState:
    """The state of a list that has not been answered yet; pages and searches concern one person only."""

    page: int = 0
    chosen: tuple[int, ...] | None = None
    """For a multi-select: the indexes selected so far; None means those of the question's prefill."""
    found: tuple[int, ...] | None = None
    """The indexes of the search results; None lists all options."""
    query: str = ""
    """The words that were searched for."""


_MAX_SEARCH_WORDS: Final = 20
"""Maximum words of a search; each of them is looked up in every option."""
_STYLES: Final = {True: ButtonStyle.PRIMARY, False: ButtonStyle.SECONDARY}
SELECTION_BUDGET: Final = 400
"""Units for the selected options of all pages of a menu, as the message names them."""
OPTIONS: Final = OptionLimits(
    # The length up to which no client cuts a label, by the design guide of
    # https://docs.discord.com/developers/components/reference#button
    button=38,
    label=limits.OPTION_LABEL,
    description=limits.OPTION_DESCRIPTION,
)


def control_id(view: View, verb: Verb, argument: str | int = "") -> str:
    """Return the custom_id of a control of a view."""
    return Control(view.ask_id, view.revision, verb, str(argument)).encode()


def button(
    view: View,
    label: str,
    verb: Verb,
    argument: str | int = "",
    style: ButtonStyle = ButtonStyle.SECONDARY,
) -> Json:
    """Render a button of a view; its label is shortened to fit."""
    return c.button(fit_button(label), control_id(view, verb, argument), style)


def buttons(view: View, planned: Iterable[PlannedButton]) -> list[Json]:
    return [
        button(
            view,
            label,
            verb,
            argument,
            ButtonStyle.DANGER if is_danger else _STYLES[is_primary],
        )
        for label, verb, argument, is_primary, is_danger in planned
    ]


def search_options(question: Question, query: str) -> tuple[int, ...]:
    """Return the indexes of the options that contain every word of a search, ignoring case."""
    wanted = list(dict.fromkeys(query.casefold().split()))[:_MAX_SEARCH_WORDS]
    folded = (f"{o.label}\n{o.description or ''}".casefold() for o in question.options)
    return tuple(i for i, text in enumerate(folded) if all(word in text for word in wanted))


def indexes_on_page(question: Question, state: ListState) -> tuple[int, ...]:
    """Return the indexes on the current page."""
    everything = tuple(range(len(question.options)))
    if state.found is not None:
        return tuple(i for i in state.found if i < len(everything))[: limits.SELECT_OPTIONS]
    if not 0 <= state.page < page_count(question):
        return everything[: limits.SELECT_OPTIONS]
    start = state.page * limits.SELECT_OPTIONS
    return everything[start : start + limits.SELECT_OPTIONS]


def initial_page(prompt: Prompt) -> int:
    """Return the page on which a list opens: the one with the prefilled option."""
    return next(iter(chosen_indexes(prompt)), 0) // limits.SELECT_OPTIONS


def page_count(question: Question) -> int:
    return max(1, -(-len(question.options) // limits.SELECT_OPTIONS))


def selection_text(prompt: Prompt, state: ListState) -> str:
    """Return the names of the selected options, if a menu shows only some of them."""
    question = prompt.question
    if not is_several(prompt) or page_count(question) == 1:
        return ""
    return " · ".join(OPTIONS.option_labels(question, selected_indexes(prompt, state.chosen)))


def option_text_blocks(question: Question, state: ListState) -> list[TextBlock]:
    """Return the options to show as text: all if each has a button next to it, or those that a menu would cut."""
    if not question.options:
        return []
    numbered = OPTIONS.needs_text_list(question)
    if OPTIONS.fits_sections(question):
        return [
            block
            for i, each in enumerate(question.options)
            for block in (
                TextBlock(each.label, f"**{i + 1}. {{}}**" if numbered else "**{}**"),
                TextBlock(each.description or "", "\n{}"),
            )
        ]
    if not numbered:
        return []
    return [
        TextBlock(option_line(question.options[i]), f"**{i + 1}.** {{}}")
        for i in indexes_on_page(question, state)
    ]


def sections(view: View, prompt: Prompt, labels: Labels, texts: Sequence[str]) -> list[Json]:
    """Render each option with its button next to it.

    Args:
        texts: the texts of `option_text_blocks`, fitted to the message.
    """
    rendered = [
        c.section("".join(texts[2 * i : 2 * i + 2]), each)
        for i, each in enumerate(buttons(view, option_buttons(prompt, OPTIONS)))
    ]
    return [*rendered, *c.rows(_free_text_buttons(view, prompt, labels))]


def render_option_controls(
    view: View, prompt: Prompt, labels: Labels, state: ListState
) -> list[Json]:
    """Render the rows of controls that choose an option, without Back, Reply and End Turn.

    Paging and searching open a list for one person only, in which they continue: see `long_lists`.
    """
    question = prompt.question
    other = _free_text_buttons(view, prompt, labels)
    if OPTIONS.fits_buttons(question):
        return c.rows([*buttons(view, option_buttons(prompt, OPTIONS)), *other])
    several = is_several(prompt)
    shown = indexes_on_page(question, state)
    answers = (
        _submit_button(view, prompt, labels, state) if several else _prefilled_button(view, prompt)
    )
    return [
        *([_menu(view, prompt, labels, state, shown)] if shown else []),
        *c.rows([*answers, *other]),
        *c.rows(_paging_row(view, question, labels, state)),
    ]


def _menu(
    view: View, prompt: Prompt, labels: Labels, state: ListState, shown: Sequence[int]
) -> Json:
    question = prompt.question
    several = is_several(prompt)
    chosen = set(selected_indexes(prompt, state.chosen)) if several else set()
    placeholder = labels.choose
    if page_count(question) > 1 and state.found is None:
        page = labels.page_of.format(page=state.page + 1, pages=page_count(question))
        placeholder = f"{placeholder} {page}"
    menu = c.select(
        control_id(view, Verb.CHOOSE, "found" if state.found is not None else state.page),
        [
            c.option(
                fit_line(name, limits.OPTION_LABEL),
                str(i),
                fit_line(question.options[i].description or "", limits.OPTION_DESCRIPTION),
                i in chosen,
            )
            for i, name in zip(shown, OPTIONS.option_labels(question, shown), strict=True)
        ],
        least=0 if several else 1,
        most=len(shown) if several else 1,
        placeholder=fit_line(placeholder, limits.PLACEHOLDER),
    )
    return {"type": c.ACTION_ROW, "components": [menu]}


def _prefilled_button(view: View, prompt: Prompt) -> list[Json]:
    # Picking the option that a menu already shows as picked sends nothing
    # (https://github.com/discord/discord-api-docs/issues/4801), so the prefilled option is a button.
    first = chosen_indexes(prompt)[:1]
    names = OPTIONS.option_labels(prompt.question, first)
    return buttons(
        view,
        [
            option_button(prompt.question, name, i, first)
            for i, name in zip(first, names, strict=True)
        ],
    )


def _submit_button(view: View, prompt: Prompt, labels: Labels, state: ListState) -> list[Json]:
    seen = selection_digest(selected_indexes(prompt, state.chosen))
    return [button(view, labels.submit, Verb.SUBMIT_SELECTION, seen, ButtonStyle.PRIMARY)]


def _free_text_buttons(view: View, prompt: Prompt, labels: Labels) -> list[Json]:
    takes_note = allows_note(prompt.question)
    return buttons(view, free_text_buttons(prompt, labels, takes_note=takes_note))


def _paging_row(view: View, question: Question, labels: Labels, state: ListState) -> list[Json]:
    total = page_count(question)
    if total == 1:
        return []
    search = button(view, labels.search, Verb.SEARCH)
    if state.found is not None:
        return [button(view, labels.close, Verb.PAGE, 0), search]
    return [*paging_buttons(view, Verb.PAGE, state.page, total, labels), search]


def paging_buttons(view: View, verb: Verb, page: int, total: int, labels: Labels) -> list[Json]:
    """Render Previous and Next, each only if there is such a page."""
    turns = [button(view, labels.previous, verb, page - 1)] if page > 0 else []
    return [*turns, button(view, labels.next, verb, page + 1)] if page < total - 1 else turns
