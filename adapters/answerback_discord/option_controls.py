"""The options of a question as buttons, sections and menus: paged, searched, numbered; nothing dropped. Pure.

What a person did to a list without answering yet (a page, a search, a selection in a menu) is a `ListState`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from answerback.core.form import AnswerType, Option, Question
from answerback.core.labels import Labels
from answerback.core.view import Prompt, View
from answerback_chat import control_codec
from answerback_chat.control_codec import Verb
from answerback_chat.option_controls import OptionLimits, chosen_indexes
from answerback_chat.sanitize import one_line
from answerback_discord import components as c
from answerback_discord import limits
from answerback_discord.components import ButtonStyle, Json
from answerback_discord.limits import MESSAGE_TEXT
from answerback_discord.markdown_text import fit_button, fit_line
from answerback_discord.message_fitting import TextBlock
from answerback_discord.modal_inputs import allows_note


@dataclass(frozen=True, slots=True)
class ListState:
    """How a list stands in front of people who have not moved the ask: pages and searches are one person's own."""

    page: int = 0
    chosen: tuple[int, ...] | None = None
    """Multi-select: the indexes selected so far; None: as the question's prefill has it."""
    found: tuple[int, ...] | None = None
    """The indexes that a search found; None: all options are listed."""
    words: str = ""
    """What was searched for."""


_MAX_WORDS: Final = 20
"""Words of a search that count: nobody looks for more, and each is looked for in every option."""
_UNTURNED: Final = ListState()
SELECTION_ROOM: Final = 400
"""Units in which a message names what is selected on all pages of a menu."""
OPTIONS: Final = OptionLimits(
    # Up to which no client cuts it: the design guide of
    # https://docs.discord.com/developers/components/reference#button
    button=38,
    label=limits.OPTION_LABEL,
    description=limits.OPTION_DESCRIPTION,
    # Three components each, of the forty that a message may have with all that stands beside them:
    # https://docs.discord.com/developers/components/reference
    sections=6,
)


def control_id(view: View, verb: Verb, argument: str | int = "") -> str:
    """The custom_id of one control of a view."""
    return control_codec.encode(view.ask_id, view.revision, verb, str(argument))


def button(
    view: View,
    label: str,
    verb: Verb,
    argument: str | int = "",
    style: ButtonStyle = ButtonStyle.SECONDARY,
) -> Json:
    """A button of a view, with as much of its label as it holds."""
    custom_id = control_codec.encode(view.ask_id, view.revision, verb, str(argument))
    return c.button(fit_button(label), custom_id, style)


ButtonPlan: TypeAlias = tuple[tuple[str, str, ButtonStyle], ...]
"""Buttons of any ask's message: label, what stands behind the stem of its controls, look."""


def plan_button(
    label: str, verb: Verb, argument: str = "", style: ButtonStyle = ButtonStyle.SECONDARY
) -> ButtonPlan:
    """A plan of one button."""
    return ((fit_button(label), control_codec.control_suffix(verb, argument), style),)


def render_buttons(view: View, plan: ButtonPlan) -> list[Json]:
    """The buttons of a plan, on the message of a view."""
    stem = control_codec.control_prefix(view.ask_id, view.revision)
    return [c.button(label, stem + tail, style) for label, tail, style in plan]


def selected_indexes(prompt: Prompt, look: ListState) -> tuple[int, ...]:
    """The indexes that are chosen in a multi-select now."""
    if look.chosen is not None:
        return look.chosen
    return tuple(chosen_indexes(prompt))


def selection_digest(chosen: Sequence[int]) -> str:
    """What Submit carries of the selection that the person saw, so that it never hands in another."""
    text = ",".join(map(str, chosen))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def search_options(question: Question, words: str) -> tuple[int, ...]:
    """The indexes of the options that hold every word of a search, in any case."""
    wanted = list(dict.fromkeys(words.casefold().split()))[:_MAX_WORDS]
    folded = (f"{o.label}\n{o.description or ''}".casefold() for o in question.options)
    return tuple(i for i, text in enumerate(folded) if all(word in text for word in wanted))


def indexes_on_page(question: Question, look: ListState) -> tuple[int, ...]:
    """The indexes on the page that is shown."""
    everything = tuple(range(len(question.options)))
    if look.found is not None:
        return tuple(i for i in look.found if i < len(everything))[: limits.SELECT_OPTIONS]
    if not 0 <= look.page < page_count(question):
        return everything[: limits.SELECT_OPTIONS]
    start = look.page * limits.SELECT_OPTIONS
    return everything[start : start + limits.SELECT_OPTIONS]


def initial_list_state(prompt: Prompt) -> ListState:
    """How the live message looks before anybody has turned it."""
    return ListState(page=initial_page(prompt)) if prompt.question.options else _UNTURNED


def initial_page(prompt: Prompt) -> int:
    """The page on which a list opens: the one with the option that is pre-populated."""
    return next(iter(chosen_indexes(prompt)), 0) // limits.SELECT_OPTIONS


def page_count(question: Question) -> int:
    """How many pages a question's options take in a menu."""
    return max(1, -(-len(question.options) // limits.SELECT_OPTIONS))


def selection_text(prompt: Prompt, look: ListState) -> str:
    """The selected options, where a menu shows only some of them."""
    question = prompt.question
    if question.answer_type is not AnswerType.MULTI_SELECT or page_count(question) == 1:
        return ""
    return " · ".join(OPTIONS.option_labels(question, selected_indexes(prompt, look)))


def option_text_blocks(question: Question, look: ListState) -> list[TextBlock]:
    """The options that stand as text: all where each has its button beside it, or those that no control shows whole."""
    if not question.options:
        return []
    numbered = OPTIONS.needs_text_list(question)
    if OPTIONS.fits_sections(question):
        return [
            block
            for i, each in enumerate(question.options)
            for block in (
                TextBlock(each.label, MESSAGE_TEXT, f"**{i + 1}. {{}}**" if numbered else "**{}**"),
                TextBlock(each.description or "", MESSAGE_TEXT, "\n{}"),
            )
        ]
    if not numbered:
        return []
    return [
        TextBlock(_option_text(question.options[i]), MESSAGE_TEXT, f"**{i + 1}.** {{}}")
        for i in indexes_on_page(question, look)
    ]


def _option_text(option: Option) -> str:
    label = one_line(option.label)
    return f"{label} — {option.description}" if option.description else label


def sections(view: View, prompt: Prompt, labels: Labels, told: Sequence[str]) -> list[Json]:
    """Each option with its button beside it.

    Args:
        told: the texts of `option_text_blocks`, as they fit the message.
    """
    names = OPTIONS.option_labels(prompt.question, range(len(prompt.question.options)))
    chosen = chosen_indexes(prompt)
    made = [
        c.section(
            "".join(told[2 * i : 2 * i + 2]),
            option_button(view, fit_line(name, OPTIONS.button), i, chosen),
        )
        for i, name in enumerate(names)
    ]
    return [*made, *c.rows(_other(view, prompt, labels))]


def option_button(view: View, name: str, index: int, chosen: Sequence[int]) -> Json:
    """The button that answers with an option."""
    style = ButtonStyle.PRIMARY if index in chosen else ButtonStyle.SECONDARY
    return button(view, name, Verb.ANSWER, index, style)


def render_option_controls(
    view: View, prompt: Prompt, labels: Labels, look: ListState
) -> list[Json]:
    """The rows by which an option is chosen, without Back, Reply and End Turn.

    Paging and searching opens a list for one person alone, in which they go on: see `lists`.
    """
    question = prompt.question
    other = _other(view, prompt, labels)
    if OPTIONS.fits_buttons(question):
        chosen = chosen_indexes(prompt)
        buttons = [
            option_button(view, name, i, chosen)
            for i, name in enumerate(OPTIONS.option_labels(question, range(len(question.options))))
        ]
        return c.rows([*buttons, *other])
    several = question.answer_type is AnswerType.MULTI_SELECT
    shown = indexes_on_page(question, look)
    answers = _submit(view, prompt, labels, look) if several else _take_prefill(view, prompt)
    return [
        *([_menu(view, prompt, labels, look, shown)] if shown else []),
        *c.rows([*answers, *other]),
        *c.rows(_paging(view, question, labels, look)),
    ]


def _menu(
    view: View, prompt: Prompt, labels: Labels, look: ListState, shown: Sequence[int]
) -> Json:
    question = prompt.question
    several = question.answer_type is AnswerType.MULTI_SELECT
    chosen = set(selected_indexes(prompt, look)) if several else set()
    place = labels.choose
    if page_count(question) > 1 and look.found is None:
        page = labels.page_of.format(page=look.page + 1, pages=page_count(question))
        place = f"{place} {page}"
    menu = c.select(
        control_id(view, Verb.CHOOSE, "found" if look.found is not None else look.page),
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
        placeholder=fit_line(place, limits.PLACEHOLDER),
    )
    return {"type": c.ACTION_ROW, "components": [menu]}


def _take_prefill(view: View, prompt: Prompt) -> list[Json]:
    # Picking what a menu already shows as picked sends nothing
    # (https://github.com/discord/discord-api-docs/issues/4801): what is pre-populated is a button.
    first = chosen_indexes(prompt)[:1]
    names = OPTIONS.option_labels(prompt.question, first)
    return [option_button(view, name, i, first) for i, name in zip(first, names, strict=True)]


def _submit(view: View, prompt: Prompt, labels: Labels, look: ListState) -> list[Json]:
    seen = selection_digest(selected_indexes(prompt, look))
    return [button(view, labels.submit, Verb.SUBMIT_SELECTION, seen, ButtonStyle.PRIMARY)]


def _other(view: View, prompt: Prompt, labels: Labels) -> list[Json]:
    """The buttons of answers that take words."""
    made = []
    if prompt.question.other:
        style = ButtonStyle.SECONDARY if prompt.words is None else ButtonStyle.PRIMARY
        made.append(button(view, labels.other, Verb.OTHER, style=style))
    if allows_note(prompt.question):
        style = ButtonStyle.SECONDARY if prompt.note is None else ButtonStyle.PRIMARY
        made.append(button(view, labels.answer_with_note, Verb.NOTE, style=style))
    return made


def _paging(view: View, question: Question, labels: Labels, look: ListState) -> list[Json]:
    total = page_count(question)
    if total == 1:
        return []
    search = button(view, labels.search, Verb.SEARCH)
    if look.found is not None:
        return [button(view, labels.close, Verb.PAGE, 0), search]
    return [*paging_buttons(view, Verb.PAGE, look.page, total, labels), search]


def paging_buttons(view: View, verb: Verb, page: int, total: int, labels: Labels) -> list[Json]:
    """Previous and Next, each only where there is such a page."""
    buttons = []
    if page > 0:
        buttons.append(button(view, labels.previous, verb, page - 1))
    if page < total - 1:
        buttons.append(button(view, labels.next, verb, page + 1))
    return buttons
