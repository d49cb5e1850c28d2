"""Selects and multi-selects: which control shows the options, so that each can be read in full and none is dropped.

Owns the choice between buttons, boxes, a menu in the message and menus in a modal. Option values are indexes.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from typing import Final

from answerback.core.form import AnswerType, Question
from answerback.core.view import Prompt
from answerback_chat import text_fitting
from answerback_chat.control_codec import Verb
from answerback_chat.option_controls import OptionLimits, chosen_indexes
from answerback_chat.sanitize import one_line, visible
from answerback_chat.text_fitting import fits_line
from answerback_slack import limits
from answerback_slack.blocks import (
    Block,
    input_block,
    json_bytes,
    option_object,
    options_or_groups,
    plain_text,
    text_length,
)
from answerback_slack.message_layout import MessageBuilder

_LABEL_LENGTHS: Final = (limits.OPTION_TEXT, 60, 45, 35, 25, 18, 12)
"""How long a menu's labels may be, tried in this order until a modal of them fits."""
_PREVIEW_BUTTONS: Final = 10
OPTION_LIMITS: Final = OptionLimits(
    button=28,  # clients may cut one near 30 characters
    label=limits.OPTION_TEXT,
    description=limits.OPTION_DESCRIPTION,
)


def build_controls(sheet: MessageBuilder, prompt: Prompt, room: int) -> list[Block]:
    """The controls of the open question. ``room``: how many characters a menu in the message may take."""
    question = prompt.question
    if OPTION_LIMITS.fits_buttons(question):
        return [sheet.controls_row("answer", _buttons(sheet, prompt))]
    start = _start(sheet, prompt)
    in_message = option_inputs(question, start, sheet.encode_control, sheet.labels.choose)
    if len(question.options) > limits.BOXES and text_length(in_message) > room:
        sheet.shortened = True
        pressed = [sheet.control_button(sheet.labels.choose, Verb.CHOOSE, primary=True)]
        return [sheet.controls_row("answer", pressed + _words(sheet, prompt))]
    submit = sheet.control_button(sheet.labels.submit, Verb.SUBMIT_SELECTION, primary=True)
    return [*in_message, sheet.controls_row("answer", [submit, *_words(sheet, prompt)])]


def _start(sheet: MessageBuilder, prompt: Prompt) -> Sequence[int]:
    """What is selected from the start."""
    several = prompt.question.answer_type is AnswerType.MULTI_SELECT
    if several and sheet.selected is not None:
        return [place for place in sheet.selected if place < len(prompt.question.options)]
    return chosen_indexes(prompt)


def preview_buttons(sheet: MessageBuilder, question: Question) -> list[Block]:
    """A button for each option that has a preview; past a handful they stand in "Show in full"."""
    shown = [i for i, each in enumerate(question.options) if each.preview]
    if len(shown) > _PREVIEW_BUTTONS:
        sheet.shortened = True
        return []
    labels = [f"{sheet.labels.preview}: {one_line(question.options[i].label)}" for i in shown]
    elements = [sheet.control_button(labels[n], Verb.PREVIEW, i) for n, i in enumerate(shown)]
    return [sheet.controls_row("preview", elements)] if elements else []


def numbered_options(question: Question) -> list[str]:
    """The options as numbered texts in full."""
    return [
        f"{number}. {visible(each.label)}"
        + (f"\n{visible(each.description)}" if each.description else "")
        for number, each in enumerate(question.options, 1)
    ]


def option_inputs(
    question: Question,
    chosen: Sequence[int],
    control: Callable[[Verb, int], str],
    placeholder: str,
    label_length: int = limits.OPTION_TEXT,
) -> list[Block]:
    """Boxes or menus of all options, silent until something is pressed; ``chosen`` are selected from the start."""
    multi = question.answer_type is AnswerType.MULTI_SELECT
    made = _options(question, label_length)
    if len(made) <= limits.BOXES:
        kind = "checkboxes" if multi else "radio_buttons"
        return [_input(kind, made, chosen, control, 0, placeholder)]
    if not multi or len(made) <= limits.MENU_OPTIONS:
        kind = "multi_static_select" if multi else "static_select"
        return [_input(kind, made, chosen, control, 0, placeholder)]
    starts = range(0, len(made), limits.MENU_OPTIONS)
    return [
        _input("multi_static_select", made, chosen, control, part, placeholder, _span(made, start))
        for part, start in enumerate(starts)
    ]


def modal_option_inputs(
    question: Question, chosen: Sequence[int], control: Callable[[Verb, int], str], placeholder: str
) -> list[Block]:
    """`option_inputs` for a modal: labels as long as all of them fit."""
    made: dict[int, list[Block]] = {}

    def fits_line(length: int) -> bool:
        made[length] = option_inputs(question, chosen, control, placeholder, length)
        return json_bytes(made[length]) <= limits.MODAL_BYTES * 3 // 4

    longest, *shorter = _LABEL_LENGTHS
    if fits_line(longest):
        return made[longest]
    # The shorter the labels the smaller the modal, so few of the lengths have to be tried.
    length = shorter[min(bisect(shorter, False, key=fits_line), len(shorter) - 1)]
    return made.get(length) or option_inputs(question, chosen, control, placeholder, length)


def _span(made: Sequence[Block], start: int) -> tuple[int, int]:
    return start, min(start + limits.MENU_OPTIONS, len(made))


def _input(
    kind: str,
    made: Sequence[Block],
    chosen: Sequence[int],
    control: Callable[[Verb, int], str],
    part: int,
    placeholder: str,
    span: tuple[int, int] | None = None,
) -> Block:
    first, last = span or (0, len(made))
    element: Block = {
        "type": kind,
        "action_id": str(Verb.CHOOSE),
        **options_or_groups(made[first:last]),
    }
    initial = [made[i] for i in chosen if first <= i < last]
    if kind in {"checkboxes", "multi_static_select"} and initial:
        element["initial_options"] = initial
    elif initial:
        element["initial_option"] = initial[0]
    label = placeholder
    if "select" in kind:
        element["placeholder"] = plain_text(placeholder, limits.PLACEHOLDER)
        label = f"{placeholder} {first + 1}–{last}" if span else placeholder
    several = kind in {"checkboxes", "multi_static_select"}
    return input_block(label, control(Verb.CHOOSE, part), element, optional=several)


def _options(question: Question, length: int) -> list[Block]:
    numbered = length < limits.OPTION_TEXT or OPTION_LIMITS.needs_text_list(question)
    made = []
    for index, each in enumerate(question.options):
        label = one_line(each.label)
        label = text_fitting.shorten(f"{index + 1}. {label}" if numbered else label, length)
        fitting = length == limits.OPTION_TEXT and fits_line(
            each.description or "", limits.OPTION_DESCRIPTION
        )
        made.append(option_object(label, str(index), each.description if fitting else None))
    return made


def _buttons(sheet: MessageBuilder, prompt: Prompt) -> list[Block]:
    chosen = chosen_indexes(prompt)
    return [
        sheet.control_button(one_line(each.label), Verb.ANSWER, i, primary=i in chosen)
        for i, each in enumerate(prompt.question.options)
    ] + _words(sheet, prompt)


def _words(sheet: MessageBuilder, prompt: Prompt) -> list[Block]:
    """What opens an entry of words: of one's own, or of a note beside what is chosen."""
    pressed = []
    if prompt.question.other:
        other = sheet.control_button(
            sheet.labels.other, Verb.OTHER, primary=prompt.words is not None
        )
        pressed.append(other)
    if prompt.question.notes:
        noted = sheet.control_button(
            sheet.labels.answer_with_note, Verb.NOTE, primary=prompt.note is not None
        )
        pressed.append(noted)
    return pressed
