"""Encode the inputs of a form as Slack's, and decode what was entered in them. Pure.

Slack's own checks never reject a value that the schema accepts: a value that a native input cannot hold exactly
(unusual numbers, distant dates, long texts) is typed as text instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

from answerback.core.errors import Problem
from answerback.core.labels import Labels
from answerback.core.schema_field_values import FieldEntry, placeholder
from answerback.core.schema_fields import NUMBER_KINDS, Field, FieldKind
from answerback.core.view import Prompt, View
from answerback.presentation import text_fitting
from answerback.presentation.form_inputs import FormLimits, Input, InputKind
from answerback.presentation.form_spec import Entry, FormSpec, plan_form
from answerback_chat.control_codec import Control, Verb
from answerback_slack import blocks as kit
from answerback_slack import limits, option_controls
from answerback_slack.blocks import Block
from answerback_slack.parse import Submission, Values, selected_indexes

ACTION_ID: Final = "field"
_TEXT: Final = "text"
"""The action_id and the first part of the block_id of an input that is not a schema's field."""
_TEXT_BLOCK: Final = re.compile(rf"{_TEXT}\.([0-9]{{1,3}}(?:\.n)?)")
MAX_PREFILL_INPUTS: Final = 10
"""The most inputs of `limits.INPUT_TEXT` that a long initial text is divided among."""
FORM_LIMITS: Final = FormLimits(
    label=limits.INPUT_LABEL,
    hint=limits.INPUT_HINT,
    option=limits.OPTION_TEXT,
    description=limits.OPTION_DESCRIPTION,
    text=limits.INPUT_TEXT,
    editable=limits.INPUT_TEXT * MAX_PREFILL_INPUTS,
    fields=40,
    schema=limits.SECTION_TEXT,
    has_constraints=True,
    lists_choices=True,
    has_selection=True,
)
_INPUT_BYTES: Final = limits.MODAL_BYTES * 7 // 8
"""The bytes of a modal that its inputs may take."""
_BYTES_BESIDE_OPTIONS: Final = limits.MODAL_BYTES // 8
"""The bytes that a text may take beside the options, which may take three quarters."""
_MULTILINE_ABOVE: Final = 150
"""Fields that may hold more characters than this get a multi-line input."""
_NUMBER_INPUT_VALUES: Final = {
    FieldKind.NUMBER: re.compile(r"(-?[0-9]{1,15}(?:\.[0-9]{1,10})?)"),
    FieldKind.INTEGER: re.compile(r"(-?[0-9]{1,15})(?:\.0)?"),
}
"""The numbers that a number_input is certain to accept; the group is what it receives as its initial value."""
_QUESTION_BLOCKS: Final = 1
"""Blocks above a form."""


def form_of(
    view: View, control: Control, labels: Labels, selected: Sequence[int] | None = None
) -> FormSpec | None:
    """Plan the form that a control opens: a schema as fields if one modal can hold them all, else as JSON."""
    entry = control.entry
    if entry is None:
        return None
    spec = plan_form(view, entry, labels, FORM_LIMITS, selected)
    if spec is None or (spec.fields and _fits_modal(spec, labels)):
        return spec
    if spec.fields:
        spec = plan_form(view, entry, labels, FORM_LIMITS, json_editor=True)
    if spec is None:
        return None
    room = _BYTES_BESIDE_OPTIONS if _has_options(spec) else _INPUT_BYTES
    holds_texts = kit.json_bytes(_input_blocks(spec, labels)) <= room
    return spec if holds_texts else spec.without_texts(labels)


def shows_schema_in_full(view: View, labels: Labels) -> bool:
    """Return True if the modal of a schema question shows everything that its schema says."""
    spec = form_of(view, Control(view.ask_id, view.revision, Verb.FILL), labels)
    return spec is not None and not spec.is_cut


def form_blocks(
    spec: FormSpec, prompt: Prompt | None, control: Control, labels: Labels
) -> list[Block]:
    menus: list[Block] = []
    if prompt is not None and _has_options(spec):
        chosen = spec.inputs[0].start
        indexes = chosen if isinstance(chosen, list) else []
        encode = partial(_encode_menu, control)
        menus = option_controls.modal_option_inputs(prompt.question, indexes, encode, labels.choose)
    return [*menus, *_input_blocks(spec, labels)]


def decode_values(spec: FormSpec, submission: Submission) -> dict[str, FieldEntry]:
    values = submission.values
    entered: dict[str, FieldEntry] = {}
    for each in spec.inputs:
        if each.field is not None:
            value = values.get(_block_id(each))
            entered[each.id] = _parse_entry(each.field, each.start, value)
        elif not each.is_typed:
            entered[each.id] = selected_indexes(submission.control, values)
        elif each.part is None or each.part[0] == 1:
            entered |= _texts(values, each.position)
    return entered


def typed_texts(values: Values) -> dict[str, FieldEntry]:
    """Decode the text that was entered, whichever form it was entered in."""
    return _texts(values, 0)


def block_of(spec: FormSpec, problem: Problem, submission: Submission) -> str:
    """Return the block_id of the input that shows a problem."""
    if spec.fields:
        pointer = problem.pointer.removeprefix("/value")
        return f"{ACTION_ID}.{spec.position_of(pointer)}"
    if spec.entry in {Entry.CHOICE, Entry.NOTE}:
        return first_menu(submission.control)
    texts = [block_id for block_id in submission.values if _TEXT_BLOCK.fullmatch(block_id)]
    return min(texts, default=f"{_TEXT}.0")


def first_menu(control: Control) -> str:
    """Return the block_id of the first menu of a form."""
    return _encode_menu(control, 0)


# --- one input -----------------------------------------------------------------------------------


def _texts(values: Values, position: int) -> dict[str, FieldEntry]:
    matches = ((_TEXT_BLOCK.fullmatch(block_id), entry) for block_id, entry in values.items())
    return {f"{position}.{match[1]}": entry for match, entry in matches if match}


def _fits_modal(spec: FormSpec, labels: Labels) -> bool:
    if not all(map(_fits_input, spec.inputs)):
        return False
    made = _input_blocks(spec, labels)
    fits = len(made) + _QUESTION_BLOCKS <= limits.BLOCKS_PER_MODAL
    return fits and kit.json_bytes(made) <= limits.MODAL_BYTES * 3 // 4


def _fits_input(each: Input) -> bool:
    field = each.field
    least = field.min_length if field else None
    if each.part is not None or (least or 0) > limits.INPUT_TEXT:
        return False
    return each.kind is not InputKind.SEVERAL or len(each.choices) <= limits.MENU_OPTIONS


def _has_options(spec: FormSpec) -> bool:
    """Return True if its first input is the options of the question."""
    return spec.inputs[0].field is None and not spec.inputs[0].is_typed


def _encode_menu(control: Control, part: int) -> str:
    return Control(control.ask_id, control.revision, Verb.CHOOSE, str(part)).encode()


def _input_blocks(spec: FormSpec, labels: Labels) -> list[Block]:
    """The blocks of all inputs but the options of the question."""
    inputs = spec.inputs[1:] if _has_options(spec) else spec.inputs
    return [block for each in inputs for block in _input(each, labels)]


def _input(each: Input, labels: Labels) -> list[Block]:
    """The input, below what it does not show itself: cut choices, and invisible characters of its initial text."""
    made: list[Block] = []
    if each.kind is InputKind.PERSON:
        element: Block = {"type": "users_select", "action_id": _TEXT}
    elif each.choices:
        if each.numbered and each.field is not None:
            made = kit.sections(_listed_choices(each.field))
        element = _menu(each, labels)
    else:
        if each.unseen is not None:
            text = f"{labels.unseen} {each.unseen}"
            made = [kit.section(text_fitting.shorten(text, limits.SECTION_TEXT))]
        element = _text_element(each)
    label = f"{each.label} ({each.part[0]})" if each.part else each.label
    block = kit.input_block(
        label, _block_id(each), element, optional=not each.required, hint=each.hint or None
    )
    return [*made, block]


def _block_id(each: Input) -> str:
    if each.field is not None:
        return f"{ACTION_ID}.{each.position}"
    return f"{_TEXT}.{each.id.partition('.')[2] or 0}"


def _listed_choices(field: Field) -> str:
    return "\n".join(
        f"{i}. {choice.title}" + (f"\n{choice.description}" if choice.description else "")
        for i, choice in enumerate(field.choices, 1)
    )


def _menu(each: Input, labels: Labels) -> Block:
    """Radio buttons, checkboxes or a menu. An optional single choice is a menu, as only a menu can be cleared."""
    several = each.kind is InputKind.SEVERAL
    made = [
        kit.option_object(choice.label, str(i), None if each.numbered else choice.description)
        for i, choice in enumerate(each.choices)
    ]
    if len(made) <= limits.BOXES and (several or each.required):
        kind = "checkboxes" if several else "radio_buttons"
    else:
        kind = "multi_static_select" if several else "static_select"
    chosen = each.start if isinstance(each.start, list) else ()
    return kit.choice(kind, ACTION_ID, made, chosen, labels.choose)


def _text_element(each: Input) -> Block:
    field, value = each.field, each.start if isinstance(each.start, str) else None
    if field is None:
        plain: Block = {"type": "plain_text_input", "action_id": _TEXT, "multiline": True}
        return _with_initial(plain, "initial_value", value or None)
    return _field_element(field, value)


def _field_element(field: Field, value: str | None) -> Block:
    element: Block = {"type": "plain_text_input", "action_id": ACTION_ID}
    if field.kind is FieldKind.DATE and (value is None or _is_date(value)):
        return _with_initial({"type": "datepicker", "action_id": ACTION_ID}, "initial_date", value)
    if field.kind is FieldKind.DATE_TIME and _uses_picker(value):
        made: Block = {"type": "datetimepicker", "action_id": ACTION_ID}
        return made if value is None else made | {"initial_date_time": _picker_seconds(value)}
    if field.kind in NUMBER_KINDS:
        plain_number = _NUMBER_INPUT_VALUES[field.kind].fullmatch(value or "")
        if value is None or plain_number:
            value = plain_number[1] if plain_number else None
            element = {
                "type": "number_input",
                "action_id": ACTION_ID,
                "is_decimal_allowed": field.kind is FieldKind.NUMBER,
            } | _number_bounds(field, value)
    elif field.kind is FieldKind.EMAIL:
        element["type"] = "email_text_input"
    elif field.kind is FieldKind.URI:
        element["type"] = "url_text_input"
    elif field.kind is FieldKind.TEXT:
        element |= _length_bounds(field, value)
    if hint := placeholder(field):
        element["placeholder"] = kit.plain_text(hint, limits.PLACEHOLDER)
    return _with_initial(element, "initial_value", value or None)


def _with_initial(element: Block, key: str, value: str | None) -> Block:
    return element if value is None else element | {key: value}


def _length_bounds(field: Field, value: str | None) -> Block:
    """The length limits of a text input.

    Slack may count UTF-16 units, up to two per character, so the upper bound is doubled and checked again on
    submission. A bound that the initial value violates is left out, because Slack would reject the modal.
    """
    most, length = field.max_length, text_fitting.utf16_length(value or "")
    made: Block = {}
    if (most or 0) > _MULTILINE_ABOVE or "\n" in (value or ""):
        made["multiline"] = True
    if most is not None and max(length, 1) <= most * 2 <= limits.INPUT_TEXT:
        made["max_length"] = most * 2
    starts_shorter = value and len(value) < (field.min_length or 0)
    if field.min_length and not starts_shorter and (most is None or field.min_length <= most):
        made["min_length"] = field.min_length
    return made


def _number_bounds(field: Field, value: str | None) -> Block:
    made: Block = {}
    low, high = field.minimum, field.maximum
    inside = value is None or (
        (low is None or float(value) >= low) and (high is None or float(value) <= high)
    )
    if not inside or (low is not None and high is not None and low > high):
        return made
    for key, bound in (("min_value", low), ("max_value", high)):
        text = "" if bound is None else _number_text(bound)
        if _NUMBER_INPUT_VALUES[field.kind].fullmatch(text):
            made[key] = text
    return made


def _number_text(value: float) -> str:
    if isinstance(value, int) or value.is_integer():
        return str(int(value))
    return repr(value)


def _parse_entry(field: Field, before: FieldEntry, value: FieldEntry) -> FieldEntry:
    if field.kind is FieldKind.DATE_TIME and isinstance(value, str) and _uses_picker(before):
        # An unchanged value keeps its original spelling, with its zone and fractions of a second.
        unchanged = isinstance(before, str) and value == str(_picker_seconds(before))
        return before if unchanged else _date_time_from_picker(value)
    return value


def _is_date(text: str) -> bool:
    try:
        return datetime.strptime(text, "%Y-%m-%d").strftime("%Y-%m-%d") == text
    except ValueError:
        return False


def _uses_picker(before: FieldEntry) -> bool:
    """Return True if a date-time with this prefill gets a datetimepicker; any other is typed as text."""
    return before is None or (isinstance(before, str) and _picker_seconds(before) is not None)


def _date_time_from_picker(seconds: str) -> str:
    """Convert a datetimepicker's value to a date-time. An invalid one is kept, to be rejected at its field."""
    try:
        when = datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return seconds
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def _picker_seconds(text: str) -> int | None:
    """A date-time as seconds since the epoch; None if a datetimepicker cannot show it."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    if when.tzinfo is None:
        return None
    seconds = int(when.timestamp())
    return seconds if limits.FIRST_MOMENT <= seconds <= limits.LAST_MOMENT else None
