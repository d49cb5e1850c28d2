"""Controls for selects and multi-selects, chosen so that every option can be read in full and none is dropped.

Owns the choice between buttons, checkboxes or radio buttons, a menu in the message, and menus in a modal. Option
values are indexes.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from answerback.core.form import AnswerType, Option, Question
from answerback.core.labels import Labels
from answerback.core.view import Prompt, View
from answerback.presentation import text_fitting
from answerback.presentation.control_buttons import (
    PlannedButton,
    Verb,
    free_text_buttons,
    option_buttons,
)
from answerback.presentation.message_plan import NO_CONTROLS, Controls, plan_message
from answerback.presentation.message_style import MessageStyle
from answerback.presentation.option_controls import OptionLimits, is_several, selected_indexes
from answerback.presentation.text_blocks import TextBlock
from answerback.presentation.text_fitting import fits_line
from answerback_base.sanitize import one_line, visible
from answerback_slack import blocks as kit
from answerback_slack import limits
from answerback_slack.blocks import Block
from answerback_slack.message_layout import button, buttons, controls_row, encode_control

_LABEL_LENGTHS: Final = (limits.OPTION_TEXT, 60, 45, 35, 25, 18, 12)
"""Maximum lengths of a menu's labels, tried in this order until the modal fits."""
_MAX_PREVIEW_BUTTONS: Final = 10
_MIN_LIST_ROOM: Final = 500
"""Units that are kept free for listing the options beside a menu of them."""
_MIN_ITEM_ROOM: Final = 12
"""Units for one of many options and the blank line after it; any less would be too short to be useful."""
OPTION_LIMITS: Final = OptionLimits(
    button=28,  # clients may cut one near 30 characters
    label=limits.OPTION_TEXT,
    description=limits.OPTION_DESCRIPTION,
)


@dataclass(frozen=True)
class OptionLayout:
    """The controls that offer the options of a question."""

    controls: Controls = NO_CONTROLS
    is_beside: bool = False
    """True if each option is a text with its button next to it."""
    menus: Sequence[Block] = ()
    """The inputs in the message that choose options."""


NO_OPTIONS: Final = OptionLayout()


def lay_out(
    view: View,
    prompt: Prompt,
    labels: Labels,
    style: MessageStyle,
    selected: Sequence[int] | None = None,
) -> OptionLayout:
    """Choose how to offer the options of the open question.

    Args:
        selected: the initial selection of a multi-select; None to start from the prefill.
    """
    question = prompt.question
    previews = sum(1 for each in question.options if each.preview)
    buttons = min(previews, _MAX_PREVIEW_BUTTONS) * limits.BUTTON_TEXT
    listed, hides = _listed_options(question), previews > _MAX_PREVIEW_BUTTONS
    if OPTION_LIMITS.is_one_click(question):
        beside = OPTION_LIMITS.fits_sections(question)
        return OptionLayout(Controls(listed, hides=hides, units=buttons), beside)
    chosen = selected_indexes(prompt, selected if is_several(prompt) else None)
    menus = option_inputs(question, chosen, partial(_encode_menu, view), labels.choose)
    units = kit.text_length(menus)
    if len(question.options) > limits.BOXES:
        spare = plan_message(view, labels, style, Controls(units=buttons)).spare
        if units > spare - _MIN_LIST_ROOM:
            menus, units, hides = [], 0, True
        fitting = listed[: max(spare - units, 0) // _MIN_ITEM_ROOM]
        listed, hides = fitting, hides or len(fitting) < len(listed)
    return OptionLayout(Controls(listed, hides=hides, units=units + buttons), menus=menus)


def _encode_menu(view: View, part: int) -> str:
    return encode_control(view, Verb.CHOOSE, part)


def _listed_options(question: Question) -> list[TextBlock]:
    """Return the options to show as text: those with a button next to each, and those that no control shows in full."""
    numbered = OPTION_LIMITS.needs_text_list(question)
    if not numbered and not OPTION_LIMITS.fits_sections(question):
        return []
    return [
        TextBlock(option_text(each), f"{number}. {{}}" if numbered else "{}", limits.SECTION_TEXT)
        for number, each in enumerate(question.options, 1)
    ]


def option_blocks(
    view: View, prompt: Prompt, labels: Labels, layout: OptionLayout, texts: Sequence[str]
) -> list[Block]:
    """Return the controls that choose an option.

    Args:
        texts: of the options, if each has its button next to it.
    """
    question, above = prompt.question, [*layout.menus]
    made: list[Block] = []
    if not OPTION_LIMITS.is_one_click(question):
        submit = PlannedButton(labels.submit, Verb.SUBMIT_SELECTION, is_primary=True)
        choose = PlannedButton(labels.choose, Verb.CHOOSE, is_primary=True)
        made = [button(view, submit if layout.menus else choose)]
    elif layout.is_beside:
        beside = buttons(view, option_buttons(prompt, OPTION_LIMITS))
        above = [
            kit.paragraph(text) | {"accessory": each}
            for text, each in zip(texts, beside, strict=True)
        ]
    else:
        made = buttons(view, option_buttons(prompt, OPTION_LIMITS))
    made += buttons(view, free_text_buttons(prompt, labels, takes_note=question.notes))
    return [*above, *controls_row(view, "answer", made), *_preview_buttons(view, labels, question)]


def _preview_buttons(view: View, labels: Labels, question: Question) -> list[Block]:
    """Return a button for each preview; if there are too many, they are under "Show in full" instead."""
    shown = [i for i, each in enumerate(question.options) if each.preview]
    if len(shown) > _MAX_PREVIEW_BUTTONS:
        return []
    named = (
        PlannedButton(
            f"{labels.preview}: {one_line(question.options[i].label)}", Verb.PREVIEW, str(i)
        )
        for i in shown
    )
    return controls_row(view, "preview", buttons(view, named))


def numbered_options(question: Question) -> list[str]:
    """The options as numbered texts, in full."""
    return [f"{number}. {option_text(each)}" for number, each in enumerate(question.options, 1)]


def option_text(option: Option) -> str:
    """An option as text, in full."""
    return "\n".join(map(visible, filter(None, (option.label, option.description))))


def option_inputs(
    question: Question,
    chosen: Sequence[int],
    encode: Callable[[int], str],
    placeholder: str,
    label_length: int = limits.OPTION_TEXT,
) -> list[Block]:
    """Inputs for all options, which send nothing until a button is pressed; ``chosen`` are selected initially."""
    several = question.answer_type is AnswerType.MULTI_SELECT
    made = _options(question, label_length)
    if len(made) <= limits.BOXES:
        kind = "checkboxes" if several else "radio_buttons"
        return [_input(kind, placeholder, made, chosen, encode(0))]
    if not several:
        return [_input("static_select", placeholder, made, chosen, encode(0))]
    menus = []
    for part, start in enumerate(range(0, len(made), limits.MENU_OPTIONS)):
        shown = made[start : start + limits.MENU_OPTIONS]
        inside = [i - start for i in chosen]
        menu = _input("multi_static_select", placeholder, shown, inside, encode(part))
        if len(shown) < len(made):
            span = f"{placeholder} {start + 1}–{start + len(shown)}"
            menu["label"] = kit.plain_text(span, limits.INPUT_LABEL)
        menus.append(menu)
    return menus


def modal_option_inputs(
    question: Question, chosen: Sequence[int], encode: Callable[[int], str], placeholder: str
) -> list[Block]:
    """`option_inputs` for a modal, with the longest labels that fit, or else the shortest."""
    made: dict[int, list[Block]] = {}

    def fits(length: int) -> bool:
        made[length] = option_inputs(question, chosen, encode, placeholder, length)
        return kit.json_bytes(made[length]) <= limits.MODAL_BYTES * 3 // 4

    longest, *shorter = _LABEL_LENGTHS
    if fits(longest):
        return made[longest]
    # Building a long list takes milliseconds. Shorter labels make a smaller modal, so a binary search finds the length.
    length = shorter[min(bisect(shorter, False, key=fits), len(shorter) - 1)]
    return made.get(length) or option_inputs(question, chosen, encode, placeholder, length)


def _input(
    kind: str, label: str, options: Sequence[Block], chosen: Sequence[int], block_id: str
) -> Block:
    element = kit.choice(kind, str(Verb.CHOOSE), options, chosen, label)
    return kit.input_block(
        label, block_id, element, optional=kind in {"checkboxes", "multi_static_select"}
    )


def _options(question: Question, length: int) -> list[Block]:
    numbered = length < limits.OPTION_TEXT or OPTION_LIMITS.needs_text_list(question)
    made = []
    for index, each in enumerate(question.options):
        label = one_line(each.label)
        label = text_fitting.shorten(f"{index + 1}. {label}" if numbered else label, length)
        fitting = length == limits.OPTION_TEXT and fits_line(
            each.description or "", limits.OPTION_DESCRIPTION
        )
        made.append(kit.option_object(label, str(index), each.description if fitting else None))
    return made
