"""Build the modals that clicks open, and parse the submitted ones. Pure.

A modal's ``callback_id`` is the control that opened it, and its ``private_metadata`` the message it belongs to, so a
submission can be resolved after a restart. A long initial text is split over several inputs, so that nothing is cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from answerback.core.actions import Answer, Other
from answerback.core.errors import Problem
from answerback.core.form import AnswerType, Question
from answerback.core.intents import Choose, RequestedAction
from answerback.core.labels import Labels
from answerback.core.schema_field_values import FieldEntry, entries_from_value, value_from_entries
from answerback.core.schema_fields import Field
from answerback.core.view import Prompt, View
from answerback.presentation import text_fitting
from answerback.presentation.attribution import fill
from answerback.presentation.option_controls import chosen_indexes
from answerback.presentation.sanitize import as_json
from answerback_chat.control_codec import Control, Verb
from answerback_chat.text_entries import (
    TextEntry,
    action_from_text,
    text_entry,
    with_selection,
)
from answerback_slack import limits, modal_inputs, option_controls, show_in_full
from answerback_slack.blocks import (
    Block,
    escape,
    input_block,
    json_bytes,
    modal_view,
    mrkdwn,
    section,
    sections,
    small_text,
)
from answerback_slack.parse import Submission, Values, selected_indexes
from answerback_slack.render import fits_text_inputs

_TEXT: Final = "text"
_JOINED: Final = "n"
"""The last part of a block_id if a line end was removed between this input and the next."""
_BLOCK_ID: Final = re.compile(rf"{_TEXT}\.([0-9]{{1,3}})(\.{_JOINED})?")


def build_modal(
    view: View, control: Control, labels: Labels, metadata: str, selected: list[int] | None = None
) -> Block | None:
    """Build the modal that a control opens on this view; None if it opens no modal (any more).

    Args:
        selected: the options that are selected in the message; None if it has nothing to select.
    """
    prompt = view.prompt
    match control.verb:
        case Verb.SHOW_IN_FULL:
            return show_in_full.full_text_modal(view, labels, 0, metadata)
        case Verb.PREVIEW:
            return show_in_full.preview_modal(view, labels, _number(control), metadata)
        case Verb.CHOOSE if prompt is not None and prompt.question.options:
            return _choose_modal(prompt, control, labels, metadata)
    entry = text_entry(view, control.verb, labels)
    if entry is None or view.outcome is not None:
        return None
    title = _title(control.verb, labels)
    if prompt is None or control.verb in {Verb.REPLY, Verb.ASK_BACK}:
        return _message_modal(title, entry, control, labels, metadata)
    match control.verb:
        case Verb.OTHER:
            inputs = _free_text_inputs(prompt, entry, control, labels, selected)
            title = prompt.other_label(labels)
        case Verb.NOTE:
            inputs = _options_and_text(prompt, entry, control, labels, selected)
        case Verb.FILL:
            inputs = _schema_inputs(prompt, entry, labels)
        case _:
            inputs = modal_inputs.spell_out_invisible(_entry_inputs(entry), labels)
    return _question_modal(prompt, control, labels, metadata, title, inputs)


def rejected_submission_modal(control: Control, reason: str, typed: str, labels: Labels) -> Block:
    """The modal that replaces one whose submission was rejected: the reason, and what was typed, to be copied.

    ``reason`` is mrkdwn, so that it can show people's names. Everything that was typed is shown, unless it exceeds what
    Slack accepts in one view.

    Args:
        control: the control that opened the modal, whose name stays its title.
    """
    about = fill(labels.not_sent, escape, reason=reason) if typed.strip() else reason
    shown = mrkdwn(text_fitting.shorten(about, limits.SECTION_TEXT))
    blocks: list[Block] = [{"type": "section", "text": shown, "expand": True}]
    blocks += [small_text(labels.entered)] if typed.strip() else []
    rest, more = sections(typed), small_text(text_fitting.ELLIPSIS)
    title = _title(control.verb, labels)
    frame = modal_view(title, "ab1:notice", "", blocks, close=labels.close)
    room = limits.MODAL_BYTES - json_bytes(frame)
    if sum(map(_item_bytes, rest)) > room:
        room -= _item_bytes(more)
        totals = accumulate(map(_item_bytes, rest))
        rest = [*(block for block, total in zip(rest, totals, strict=True) if total <= room), more]
    return frame | {"blocks": [*blocks, *rest]}


def _title(verb: Verb, labels: Labels) -> str:
    """The title of the modal that a control opens: what was pressed."""
    return {
        Verb.REPLY: labels.reply_title,
        Verb.ASK_BACK: labels.ask_back,
        Verb.OTHER: labels.other,
        Verb.NOTE: labels.answer_with_note,
        Verb.FILL: labels.fill_in,
        Verb.CHOOSE: labels.choose,
    }.get(verb, labels.answer)


def _item_bytes(block: Block) -> int:
    """The number of bytes that a block adds to a list of blocks."""
    return json_bytes(block) + len(", ")


def text_inputs(label: str, start: str, *, optional: bool = True) -> list[Block]:
    """Inputs with an initial text: one, or for a long text as many as it needs."""
    made: list[Block] = []
    for index, (piece, joined) in enumerate(_pieces(start)):
        element: Block = {"type": "plain_text_input", "action_id": _TEXT, "multiline": True}
        if piece:
            element["initial_value"] = piece
        name = f"{label} ({index + 1})" if index or joined or len(piece) < len(start) else label
        block_id = _text_block_id(index, joined)
        made.append(input_block(name, block_id, element, optional=optional or index > 0))
    return made


def typed_text(values: Values) -> str:
    """Join the text that was entered in the inputs of `text_inputs`."""
    parts = [(match, values[match[0]]) for each in values if (match := _BLOCK_ID.fullmatch(each))]
    parts.sort(key=lambda part: int(part[0][1]))
    return "".join(
        (value if isinstance(value, str) else "") + ("\n" if match[2] else "")
        for match, value in parts
    )


def text_to_give_back(submission: Submission) -> str:
    """What was entered, for `rejected_submission_modal`: a plain text, or a form's fields with their labels."""
    selection = selected_indexes(submission.control, submission.values)
    return (None if selection else typed_text(submission.values)) or "\n".join(submission.lines)


def parse_submission(
    submission: Submission, view: View, labels: Labels
) -> RequestedAction | dict[str, str]:
    """The action that a submitted modal requests, or the errors by block_id."""
    values, control = submission.values, submission.control
    if control.verb in {Verb.CHOOSE, Verb.NOTE} and view.prompt is not None:
        indexes = selected_indexes(control, values)
        selected = answer_from_selection(view.prompt.question, indexes)
        missing = labels.choose_first.format(submit=labels.submit)
        if selected is None:
            return {_first_menu(control): missing}
        if control.verb is Verb.CHOOSE:
            return Choose(tuple(indexes or ()))
        return replace(selected, note=typed_text(values) or None)
    fields = _native_fields(view.prompt) if control.verb is Verb.FILL and view.prompt else None
    if fields is not None and view.prompt is not None:
        before = _entries(view.prompt, fields)
        value = value_from_entries(fields, modal_inputs.parse_entries(fields, before, values))
        return (
            modal_inputs.errors_by_block(fields, value)
            if isinstance(value, tuple)
            else Answer(value=value)
        )
    action = action_from_text(control.verb, typed_text(values))
    if isinstance(action, Problem):
        first = next((block for block in values if block.startswith(_TEXT)), f"{_TEXT}.0")
        return {first: action.message}
    if isinstance(action, Other) and view.prompt is not None:
        selected = answer_from_selection(view.prompt.question, selected_indexes(control, values))
        return with_selection(action, view.prompt, selected.value if selected else None)
    return action


def answer_from_selection(question: Question, indexes: Sequence[int] | None) -> Answer | None:
    """The answer for the selected options; None if a single choice is missing."""
    values = [question.options[i].value for i in indexes or () if i < len(question.options)]
    if question.answer_type is AnswerType.MULTI_SELECT:
        return None if indexes is None else Answer(value=list(values))
    return Answer(value=values[0]) if len(values) == 1 else None


def errors_by_block(control: Control, view: View, problems: Sequence[Problem]) -> dict[str, str]:
    """Group the service's problems by the block_id that shows them."""
    prompt = view.prompt
    if control.verb is Verb.FILL and prompt is not None:
        fields = _native_fields(prompt)
        if fields is not None:
            return modal_inputs.errors_by_block(fields, problems, "/value")
    if control.verb in {Verb.CHOOSE, Verb.NOTE}:
        return {_first_menu(control): _sentences(problems)}
    return {_first_text(view, control): _sentences(problems)}


# --- kinds of modals -----------------------------------------------------------------------------


def _question_modal(
    prompt: Prompt,
    control: Control,
    labels: Labels,
    metadata: str,
    title: str,
    inputs: list[Block],
) -> Block:
    """A modal with the question above its inputs."""
    question = section(prompt.question.text)
    return modal_view(
        title,
        control.encode(),
        metadata,
        [question, *inputs],
        submit=labels.submit,
        close=labels.cancel,
    )


def _message_modal(
    title: str, entry: TextEntry, control: Control, labels: Labels, metadata: str
) -> Block:
    """A modal for a message to the agent."""
    [text_input] = text_inputs(entry.label, "", optional=not entry.required)
    with_hint = text_input | {"hint": section(entry.hint)["text"]}
    return modal_view(
        title,
        control.encode(),
        metadata,
        [with_hint],
        submit=labels.submit,
        close=labels.cancel,
    )


def _choose_modal(prompt: Prompt, control: Control, labels: Labels, metadata: str) -> Block:
    inputs = _menus(prompt, control, labels, chosen_indexes(prompt))
    title = _title(control.verb, labels)
    return _question_modal(prompt, control, labels, metadata, title, inputs)


def _menus(
    prompt: Prompt, control: Control, labels: Labels, selected: Sequence[int]
) -> list[Block]:
    def encode(verb: Verb, part: int) -> str:
        return Control(control.ask_id, control.revision, verb, str(part)).encode()

    return option_controls.modal_option_inputs(prompt.question, selected, encode, labels.choose)


def _free_text_inputs(
    prompt: Prompt, entry: TextEntry, control: Control, labels: Labels, selected: list[int] | None
) -> list[Block]:
    """The inputs of "Something else…". If the text is added to the selection, the selected options are above them."""
    question, about = prompt.question, sections(prompt.about_other)
    if question.answer_type is AnswerType.MULTI_SELECT and question.other_beside:
        return [*about, *_options_and_text(prompt, entry, control, labels, selected)]
    inputs = [*about, *modal_inputs.spell_out_invisible(_entry_inputs(entry), labels)]
    if question.answer_type is not AnswerType.MULTI_SELECT:
        return inputs
    return [small_text(labels.other_replaces), *inputs]


def _options_and_text(
    prompt: Prompt, entry: TextEntry, control: Control, labels: Labels, selected: list[int] | None
) -> list[Block]:
    """The options with the current selection, and below them the inputs of the text that goes with it."""
    current = chosen_indexes(prompt) if selected is None else selected
    menus = _menus(prompt, control, labels, current)
    inputs = modal_inputs.spell_out_invisible(_entry_inputs(entry), labels)
    if json_bytes([*menus, *inputs]) > limits.MODAL_BYTES * 7 // 8:
        inputs = text_inputs(entry.label, "", optional=not entry.required)
    return [*menus, *inputs]


def _first_menu(control: Control) -> str:
    return Control(control.ask_id, control.revision, Verb.CHOOSE, "0").encode()


def _schema_inputs(prompt: Prompt, entry: TextEntry, labels: Labels) -> list[Block]:
    fields = _native_fields(prompt)
    if fields is not None:
        return modal_inputs.field_inputs(fields, _entries(prompt, fields), labels)
    # The JSON editor: the schema to read, and an input that starts from the prefill.
    return [section(as_json(prompt.question.json_schema)), *_entry_inputs(entry)]


def _entry_inputs(entry: TextEntry) -> list[Block]:
    """The inputs of a text entry; empty if its initial text is too long for them."""
    start = entry.start if fits_text_inputs(entry.start) else ""
    return text_inputs(entry.label, start, optional=not entry.required)


def _native_fields(prompt: Prompt) -> tuple[Field, ...] | None:
    return modal_inputs.native_fields(
        prompt.question.json_schema, prompt.prefill, is_set=prompt.is_prefilled
    )


def _entries(prompt: Prompt, fields: Sequence[Field]) -> dict[str, FieldEntry]:
    return entries_from_value(fields, prompt.prefill, is_set=prompt.is_prefilled)


def _first_text(view: View, control: Control) -> str:
    """The block_id of the first input of a text modal that was opened on this view."""
    entry = text_entry(view, control.verb, Labels())
    start = entry.start if entry and fits_text_inputs(entry.start) else ""
    _, joined = _pieces(start)[0]
    return _text_block_id(0, joined)


def _text_block_id(index: int, joined: bool) -> str:
    return f"{_TEXT}.{index}" + (f".{_JOINED}" if joined else "")


def _pieces(text: str) -> list[tuple[str, bool]]:
    """Split a text into pieces that fit an input, each with whether the line end after it was removed."""
    pieces: list[tuple[str, bool]] = []
    while text_fitting.utf16_length(text) > limits.INPUT_TEXT:
        head = text_fitting.split_text(text, limits.INPUT_TEXT)[0]
        at = head.rfind("\n")
        if at > 0:
            pieces.append((text[:at], True))
            text = text[at + 1 :]
        else:
            pieces.append((head, False))
            text = text[len(head) :]
    return [*pieces, (text, False)]


def _sentences(problems: Sequence[Problem]) -> str:
    return "\n".join(problem.message for problem in problems)


def _number(control: Control) -> int:
    return int(control.argument) if control.argument.isascii() and control.argument.isdigit() else 0
