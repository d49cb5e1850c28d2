"""Controls for selects and multi-selects, chosen so that every option can be read in full and none is dropped.

Owns the choice between buttons, checkboxes or radio buttons, a menu in the message, and menus in a modal. Option
values are indexes.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from answerback.core.form import AnswerType, Option, Question
from answerback.core.view import Prompt
from answerback.presentation import text_fitting
from answerback.presentation.control_buttons import free_text_buttons, option_buttons
from answerback.presentation.option_controls import OptionLimits, is_several, selected_indexes
from answerback.presentation.text_fitting import fits_line
from answerback_base.sanitize import one_line, visible
from answerback_chat.control_codec import Verb
from answerback_slack import blocks as kit
from answerback_slack import limits
from answerback_slack.blocks import Block
from answerback_slack.message_layout import MessageBuilder

_LABEL_LENGTHS: Final = (limits.OPTION_TEXT, 60, 45, 35, 25, 18, 12)
"""Maximum lengths of a menu's labels, tried in this order until the modal fits."""
_MAX_PREVIEW_BUTTONS: Final = 10
OPTION_LIMITS: Final = OptionLimits(
    button=28,  # clients may cut one near 30 characters
    label=limits.OPTION_TEXT,
    description=limits.OPTION_DESCRIPTION,
)


def build_controls(builder: MessageBuilder, prompt: Prompt, room: int) -> list[Block]:
    """Build the controls of the open question. A menu in the message may use at most ``room`` characters."""
    question = prompt.question
    if OPTION_LIMITS.fits_sections(question):
        return [
            *_option_sections(builder, prompt, room),
            *_row(builder, _text_buttons(builder, prompt)),
        ]
    if OPTION_LIMITS.fits_buttons(question):
        buttons = builder.buttons(option_buttons(prompt, OPTION_LIMITS))
        return _row(builder, [*buttons, *_text_buttons(builder, prompt)])
    selection = selected_indexes(prompt, builder.selected if is_several(prompt) else None)
    encode = partial(builder.encode_control, Verb.CHOOSE)
    in_message = option_inputs(question, selection, encode, builder.labels.choose)
    if len(question.options) > limits.BOXES and kit.text_length(in_message) > room:
        builder.shortened = True
        buttons = [builder.control_button(builder.labels.choose, Verb.CHOOSE, primary=True)]
        return [builder.controls_row("answer", buttons + _text_buttons(builder, prompt))]
    submit = builder.control_button(builder.labels.submit, Verb.SUBMIT_SELECTION, primary=True)
    return [*in_message, builder.controls_row("answer", [submit, *_text_buttons(builder, prompt)])]


def preview_buttons(builder: MessageBuilder, question: Question) -> list[Block]:
    """A button for each option that has a preview; if there are too many, they are under "Show in full" instead."""
    shown = [i for i, each in enumerate(question.options) if each.preview]
    if len(shown) > _MAX_PREVIEW_BUTTONS:
        builder.shortened = True
        return []
    labels = [f"{builder.labels.preview}: {one_line(question.options[i].label)}" for i in shown]
    elements = [builder.control_button(labels[n], Verb.PREVIEW, i) for n, i in enumerate(shown)]
    return [builder.controls_row("preview", elements)] if elements else []


def lists_options(question: Question) -> bool:
    """Whether the message lists the options as text above their controls."""
    return not OPTION_LIMITS.fits_sections(question) and OPTION_LIMITS.needs_text_list(question)


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


def _row(builder: MessageBuilder, buttons: Sequence[Block]) -> list[Block]:
    return [builder.controls_row("answer", buttons)] if buttons else []


def _option_sections(builder: MessageBuilder, prompt: Prompt, room: int) -> list[Block]:
    """Each option's text with its button next to it; long texts share the space."""
    options = prompt.question.options
    numbered = OPTION_LIMITS.needs_text_list(prompt.question)
    texts = numbered_options(prompt.question) if numbered else list(map(option_text, options))
    share = min(room // len(texts), limits.SECTION_TEXT)
    buttons = builder.buttons(option_buttons(prompt, OPTION_LIMITS))
    return [
        kit.section(builder.fit(text, share), each)
        for text, each in zip(texts, buttons, strict=True)
    ]


def _text_buttons(builder: MessageBuilder, prompt: Prompt) -> list[Block]:
    planned = free_text_buttons(prompt, builder.labels, takes_note=prompt.question.notes)
    return builder.buttons(planned)
