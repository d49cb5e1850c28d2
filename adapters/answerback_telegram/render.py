"""Render a view as Telegram's live message. Pure.

Each ask has one message, which is edited in place: `answerback.presentation.message_plan` says what is in it, here it
becomes HTML and an inline keyboard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from answerback.core.form import AnswerType
from answerback.core.labels import Labels
from answerback.core.view import Prompt, View
from answerback.presentation.control_buttons import PlannedButton, Verb, answer_buttons
from answerback.presentation.message_plan import (
    NO_CONTROLS,
    Answering,
    Answers,
    Asides,
    Context,
    MessagePlan,
    Part,
    ReplyText,
    Submitting,
    joined,
    plan_message,
    plan_minimal_message,
)
from answerback.presentation.message_style import MessageStyle
from answerback.presentation.text_blocks import BlockFitter, TextBlock
from answerback_telegram import keyboards, limits, option_controls, people_text
from answerback_telegram.html_text import is_live, length, preformatted, shorten
from answerback_telegram.html_text import plain as plain_text
from answerback_telegram.keyboards import Json, Row, button
from answerback_telegram.option_controls import CHOSEN, ListState
from answerback_telegram.people_text import MARKUP, Names
from answerback_telegram.question_context import CONTEXT

EDITS: Final = 30
"""Answers in a review that have an Edit button on one page."""
NO_NAMES: Final[Names] = {}


def compose(parts: Iterable[str], laid: Iterable[Row]) -> Json:
    """Return the fields of a message or an edit."""
    text = "\n\n".join(filter(None, parts))
    if text.count("</") > limits.ENTITIES or is_live(text):
        # Further marks would be lost, and with them the marks that make names inert.
        text = preformatted(plain_text(text))
    return {
        "text": text,
        "parse_mode": "HTML",
        "link_preview_options": {"is_disabled": True},
        "reply_markup": keyboards.inline_keyboard(laid),
    }


STYLE: Final = MessageStyle(
    markup=MARKUP,
    fitter=BlockFitter(shorten, length, TextBlock("", style="b"), TextBlock("", "\n→ {}")),
    context=CONTEXT,
    budget=limits.MESSAGE_TEXT - 150,
    header=TextBlock("", "{}\n", style="u"),
    question=TextBlock("", style="b"),
    selected=TextBlock("", "☑ {}", option_controls.SELECTION_BUDGET, "i"),
    prefill=TextBlock("", most=300, style="i"),
    most_marked=20,
)
"""Telegram's style of a message, with some units left for what is between its texts. The marks in a message are
limited."""


class MessageFormat(NamedTuple):
    """The way in which a live message is written and sent."""

    style: MessageStyle
    compose: Callable[[Iterable[str], Iterable[Row]], Json]


PLAIN: Final = MessageFormat(STYLE, compose)


def message(
    view: View,
    labels: Labels,
    state: ListState | None = None,
    names: Names = NO_NAMES,
    *,
    notify: bool = False,
    form: MessageFormat = PLAIN,
) -> Json:
    """Render the live message of a view.

    Args:
        names: the known names of the responders.
        notify: whether the responders' names notify them.
    """
    state = state or ListState()
    people = people_text.marks(names, notify=notify)
    style = replace(form.style, markup=MARKUP._replace(people=people))
    controls = option_controls.controls_of(view.prompt, state) if view.prompt else NO_CONTROLS
    plan = plan_message(view, labels, style, controls)
    rows = [row for part in plan.parts for row in _answer_rows(part, view, labels, state)]
    return form.compose(map(_text, plan.parts), [*rows, *_button_rows(view, labels, plan)])


def plain(view: View, labels: Labels) -> Json:
    """Render a minimal live message, for when Telegram refuses `message`, which would be a defect of ours."""
    plan = plan_minimal_message(view, labels, STYLE)
    return compose(map(_text, plan.parts), _button_rows(view, labels, plan))


def _text(part: Part) -> str:
    """Return the HTML of a part; empty if it has only buttons."""
    match part:
        case Context(rendered) | Asides(rendered):
            return rendered.text
        case Answers(pairs):
            return "\n\n".join(f"{question}{answer}" for question, answer in pairs)
        case ReplyText(text):
            return "\n".join(f"┃ {line}" for line in text.split("\n"))
        case Answering() | Submitting():
            return ""
        case _:
            return joined(part.lines)


def _answer_rows(part: Part, view: View, labels: Labels, state: ListState) -> list[Row]:
    """Return the controls that stand where a part is."""
    match part:
        case Answering(prompt):
            return _prompt_rows(view, prompt, labels, state)
        case Submitting():
            return _review_rows(view, labels, state)
        case _:
            return []


def _prompt_rows(view: View, prompt: Prompt, labels: Labels, state: ListState) -> list[Row]:
    planned = answer_buttons(prompt, labels)
    if not planned:
        return option_controls.option_rows(view, prompt, labels, state)
    if prompt.question.answer_type is AnswerType.BOOLEAN:
        marked = (
            each._replace(label=f"{CHOSEN}{each.label}") if each.is_primary else each
            for each in planned
        )
        return _planned(view, marked, 2)
    # A chat has no input that could start with the prefill.
    row = [button(view, labels.submit, Verb.ANSWER)] if prompt.is_prefilled else []
    row += keyboards.buttons(view, planned)
    if prompt.question.answer_type is AnswerType.TEXT:
        row.append(button(view, labels.none_chosen, Verb.ANSWER, keyboards.EMPTY))
    return [row]


def _button_rows(view: View, labels: Labels, plan: MessagePlan) -> list[Row]:
    """Return what moves through the questions, then what shows what the message does not."""
    shown = [*plan.more]
    if view.prompt is not None and any(each.preview for each in view.prompt.question.options):
        shown.append(PlannedButton(labels.preview, Verb.PREVIEW, "0"))
    return [*_planned(view, plan.walk), *_planned(view, shown)]


def _planned(view: View, planned: Iterable[PlannedButton], across: int = 4) -> list[Row]:
    return keyboards.rows(keyboards.buttons(view, planned), across)


def _review_rows(view: View, labels: Labels, state: ListState) -> list[Row]:
    total = -(-len(view.lines) // EDITS)
    page = state.page if state.page is not None and state.page < total else 0
    here = [*enumerate(view.lines)][page * EDITS : (page + 1) * EDITS]
    edits = [
        button(view, f"{labels.edit} {i + 1}", Verb.EDIT, i) for i, line in here if line.editable
    ]
    laid = keyboards.rows(edits, option_controls.ACROSS)
    if total > 1:
        laid.append(option_controls.paging_row(view, Verb.PAGE, page, total, labels))
    return [*laid, [button(view, labels.submit, Verb.SUBMIT, style=keyboards.PRIMARY)]]
