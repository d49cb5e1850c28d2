"""Render the options of a question as buttons: named by their labels or, if these are long or many, by numbers. Pure.

A list that is too long for a message has pages. What is chosen and which page is shown is stored next to the ask: all
who see the message see the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from answerback.core.form import AnswerType, Option, OptionKind, Question
from answerback.core.labels import Labels
from answerback.core.view import Prompt, View
from answerback.presentation.control_buttons import free_text_buttons
from answerback.presentation.form_inputs import FormLimits
from answerback.presentation.form_spec import offers_note
from answerback.presentation.message_plan import Controls
from answerback.presentation.option_controls import (
    OptionLimits,
    chosen_indexes,
    is_several,
    option_line,
    selected_indexes,
    selection_digest,
)
from answerback.presentation.text_blocks import TextBlock
from answerback.presentation.text_fitting import fits_line
from answerback_base.sanitize import one_line
from answerback_chat.control_codec import Verb
from answerback_telegram import keyboards
from answerback_telegram.keyboards import Json, Row, button

OPTIONS: Final = OptionLimits(button=34, label=0, description=0)
"""A phone cuts a longer label on a button; there are no menus."""
TICKED: Final = 8
"""Up to this many options of a multi-select have buttons with their labels."""
_CHOICES: Final = frozenset({AnswerType.SELECT, AnswerType.MULTI_SELECT})
PAGE: Final = 20
"""Options on one page of a list."""
JUMP: Final = 10
"""Pages that the buttons of a very long list skip."""
ACROSS: Final = 5
"""Buttons in a row of numbers."""
SELECTION_BUDGET: Final = 300
"""Units for the names of the chosen options of a list with pages."""
FORM_LIMITS: Final = FormLimits(menu=0, schema=2_500, has_constraints=True, lists_choices=True)
"""Everything is typed, also an option of a list, which is named by its label or number."""
SELECTION_LIMITS: Final = FormLimits(has_constraints=True, lists_choices=True)
"""The limits for a note on several options, which have been ticked before."""
_TICKS: Final = {True: "☑", False: "☐"}
CHOSEN: Final = "• "


@dataclass(frozen=True, slots=True)
class ListState:
    """The changes that people have made to a list without answering yet."""

    page: int | None = None
    """None: the page with the first chosen option."""
    chosen: tuple[int, ...] | None = None
    """For a multi-select: the indexes chosen so far; None means those of the question's prefill."""


def has_labels(question: Question) -> bool:
    """Return True if the buttons of the options have their labels; those of others have numbers."""
    if question.answer_type is AnswerType.SELECT:
        return OPTIONS.is_one_click(question)
    plain = not any((each.description or "").strip() for each in question.options)
    fit = all(fits_line(each.label, OPTIONS.button) for each in question.options)
    return len(question.options) <= TICKED and plain and fit


def _is_listed(question: Question) -> bool:
    """Return True if the options are listed as text, because their buttons do not say it all."""
    described = any((each.description or "").strip() for each in question.options)
    return not has_labels(question) or described or OPTIONS.needs_text_list(question)


def _is_whole_on_button(option: Option) -> bool:
    return fits_line(option.label, OPTIONS.button) and not (option.description or "").strip()


def page_count(question: Question) -> int:
    return max(1, -(-len(question.options) // PAGE))


def shown_page(prompt: Prompt, state: ListState) -> int:
    if state.page is not None and state.page < page_count(prompt.question):
        return state.page
    return min(chosen_indexes(prompt), default=0) // PAGE


def controls_of(prompt: Prompt, state: ListState) -> Controls:
    """Return what the controls of a prompt ask of the message around them."""
    question = prompt.question
    is_paged = page_count(question) > 1
    has_previews = any(each.preview for each in question.options)
    return Controls(
        option_blocks(prompt, state),
        selection_text(prompt, state),
        hides=question.answer_type is AnswerType.SCHEMA or is_paged or has_previews,
    )


def option_blocks(prompt: Prompt, state: ListState) -> list[TextBlock]:
    """Return the options of the page as text, without those whose buttons say it all."""
    question = prompt.question
    if question.answer_type not in _CHOICES or not _is_listed(question):
        return []
    first = shown_page(prompt, state) * PAGE
    page = [*enumerate(question.options)][first : first + PAGE]
    if has_labels(question):
        page = [(i, each) for i, each in page if not _is_whole_on_button(each)]
    return [TextBlock(option_line(each), f"{i + 1}. {{}}") for i, each in page]


def selection_text(prompt: Prompt, state: ListState) -> str:
    """Return the names of the chosen options of a list with pages, which are not all in sight; else an empty text."""
    if not is_several(prompt) or page_count(prompt.question) == 1:
        return ""
    options = prompt.question.options
    names = [
        one_line(options[i].label)
        for i in selected_indexes(prompt, state.chosen)
        if i < len(options)
    ]
    return f"{len(names)}: {' · '.join(names)}" if names else ""


def option_rows(view: View, prompt: Prompt, labels: Labels, state: ListState) -> list[Row]:
    """Render the controls that choose options."""
    question, several = prompt.question, is_several(prompt)
    chosen = selected_indexes(prompt, state.chosen) if several else tuple(chosen_indexes(prompt))
    labelled = has_labels(question)
    first = 0 if labelled else shown_page(prompt, state) * PAGE
    here = range(len(question.options))[first : first + PAGE]
    names = [str(i + 1) for i in here]
    if labelled:
        names = (
            [each.label for each in question.options]
            if several
            else OPTIONS.option_labels(question, here)
        )
    buttons = [
        _option_button(view, question, name, i, is_chosen=i in chosen)
        for name, i in zip(names, here, strict=True)
    ]
    laid = keyboards.rows(buttons, 3 if labelled else ACROSS)
    total = page_count(question)
    if total > 1 and not labelled:
        laid.append(paging_row(view, Verb.PAGE, shown_page(prompt, state), total, labels))
    if several:
        submit = button(
            view, labels.submit, Verb.SUBMIT_SELECTION, selection_digest(chosen), keyboards.PRIMARY
        )
        laid.append([submit])
    return [*laid, *keyboards.rows(_free_text_buttons(view, prompt, labels))]


def _option_button(
    view: View, question: Question, name: str, index: int, *, is_chosen: bool
) -> Json:
    if question.answer_type is AnswerType.MULTI_SELECT:
        return button(view, f"{_TICKS[is_chosen]} {name}", Verb.CHOOSE, index)
    if question.options[index].kind is OptionKind.DENY:
        return button(view, name, Verb.ANSWER, index, keyboards.DANGER)
    style = keyboards.PRIMARY if is_chosen else ""
    return button(view, f"{CHOSEN}{name}" if is_chosen else name, Verb.ANSWER, index, style)


def _free_text_buttons(view: View, prompt: Prompt, labels: Labels) -> list[Json]:
    taken = []
    if prompt.other_text is not None and not is_several(prompt):
        taken = [button(view, labels.submit, Verb.ANSWER, style=keyboards.PRIMARY)]
    takes_note = offers_note(prompt.question, SELECTION_LIMITS)
    planned = free_text_buttons(prompt, labels, takes_note=takes_note)
    return [*taken, *(button(view, each.label, each.verb) for each in planned)]


def paging_row(view: View, verb: Verb, page: int, total: int, labels: Labels) -> Row:
    """Render Previous and Next, and in a very long list also what skips pages, each only if there is such a page."""
    steps = [(-JUMP, "⏪"), (-1, labels.previous), (1, labels.next), (JUMP, "⏩")]
    return [
        button(view, name, verb, page + step) for step, name in steps if 0 <= page + step < total
    ]
