"""Render a flat schema as native modal inputs, and parse what was entered in them. Pure.

Owns the mapping from fields to Slack's inputs. Slack's own checks never reject a value that the schema accepts: a
value that a native input cannot hold exactly (unusual numbers, distant dates, long texts) is typed as text instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from pydantic import JsonValue

from answerback.core.errors import Problem
from answerback.core.labels import Labels
from answerback.core.schema_field_values import (
    FieldEntry,
    entries_from_value,
    placeholder,
    value_from_entries,
)
from answerback.core.schema_fields import NUMBER_KINDS, Field, FieldKind, fields_from_schema
from answerback.core.view import Prompt
from answerback.presentation import text_fitting
from answerback.presentation.field_bounds import describe_bounds
from answerback.presentation.sanitize import as_json, one_line, unseen
from answerback_slack import limits
from answerback_slack.blocks import (
    Block,
    input_block,
    json_bytes,
    option_object,
    options_or_groups,
    plain_text,
    section,
    sections,
)
from answerback_slack.parse import Values

ACTION_ID: Final = "field"
_MAX_FIELDS: Final = 40
_MULTILINE_ABOVE: Final = 150
"""Fields that may hold more characters than this get a multi-line input."""
_NUMBER_INPUT_VALUES: Final = {
    FieldKind.NUMBER: re.compile(r"(-?[0-9]{1,15}(?:\.[0-9]{1,10})?)"),
    FieldKind.INTEGER: re.compile(r"(-?[0-9]{1,15})(?:\.0)?"),
}
"""The numbers that a number_input is certain to accept; the group is what it receives as its initial value."""
_QUESTION_BLOCKS: Final = 1
"""Blocks above a form."""


def block_id(index: int) -> str:
    """The block_id of the field at this position."""
    return f"field.{index}"


def native_fields(
    schema: JsonValue, prefill: JsonValue, *, is_set: bool = False
) -> tuple[Field, ...] | None:
    """The fields of a schema if one modal can hold them all, prefill included; else None.

    Args:
        is_set: whether null is a prefill.
    """
    fields = fields_from_schema(schema)
    if fields is None or len(fields) > _MAX_FIELDS:
        return None
    entries = entries_from_value(fields, prefill, is_set=is_set)
    if not all(_fits_input(field, entries[field.name]) for field in fields):
        return None
    if isinstance(prefill, dict) and set(prefill) - {field.name for field in fields}:
        return None
    made = field_inputs(fields, entries, Labels())
    fits = len(made) + _QUESTION_BLOCKS <= limits.BLOCKS_PER_MODAL
    return fields if fits and json_bytes(made) <= limits.MODAL_BYTES * 3 // 4 else None


def field_inputs(
    fields: Sequence[Field], entries: Mapping[str, FieldEntry], labels: Labels
) -> list[Block]:
    """Build the inputs of a form, in field order, filled with the entries."""
    made = [
        block
        for index, field in enumerate(fields)
        for block in _input(field, entries[field.name], index, labels)
    ]
    return spell_out_invisible(made, labels)


def spell_out_invisible(blocks: Sequence[Block], labels: Labels) -> list[Block]:
    """Add, above each input whose initial value has invisible characters, the same text with them made visible."""
    made: list[Block] = []
    for block in blocks:
        element = block.get("element")
        start = element.get("initial_value") if isinstance(element, dict) else None
        text = unseen(start) if isinstance(start, str) else None
        if text is not None:
            made.append(
                section(text_fitting.shorten(f"{labels.unseen} {text}", limits.SECTION_TEXT))
            )
        made.append(block)
    return made


def shows_schema_in_full(prompt: Prompt, labels: Labels) -> bool:
    """Whether the modal of a schema question shows everything that its schema says."""
    schema = prompt.question.json_schema
    fields = native_fields(schema, prompt.prefill, is_set=prompt.is_prefilled)
    if fields is not None:
        return shows_fields_in_full(fields, labels)
    return text_fitting.utf16_length(as_json(schema)) <= limits.SECTION_TEXT


def shows_fields_in_full(fields: Sequence[Field], labels: Labels) -> bool:
    """Whether the labels and hints of the form show everything the schema says about its fields."""
    return all(
        text_fitting.utf16_length(field.title) <= limits.INPUT_LABEL
        and text_fitting.utf16_length(_hint(field, labels)) <= limits.INPUT_HINT
        for field in fields
    )


def parse_entries(
    fields: Sequence[Field], before: Mapping[str, FieldEntry], values: Values
) -> dict[str, FieldEntry]:
    """Parse what a person entered in inputs that were filled with the entries ``before``, by field name."""
    return {
        field.name: _parse_entry(field, before[field.name], values.get(block_id(index)))
        for index, field in enumerate(fields)
    }


def errors_by_block(
    fields: Sequence[Field], problems: Sequence[Problem], prefix: str = ""
) -> dict[str, str]:
    """Group problems by block_id: that of the field that the problem's pointer is in, else the first field's."""
    messages_by_block: dict[str, list[str]] = {}
    for problem in problems:
        pointer = problem.pointer.removeprefix(prefix)
        index = next(
            (i for i, f in enumerate(fields) if f"{pointer}/".startswith(f"{f.pointer}/")), 0
        )
        messages_by_block.setdefault(block_id(index), []).append(problem.message)
    return {block: "\n".join(messages) for block, messages in messages_by_block.items()}


# --- one field -----------------------------------------------------------------------------------


def _fits_input(field: Field, value: FieldEntry) -> bool:
    if field.kind is FieldKind.CHOICES:
        prefilled = len(value) if isinstance(value, list) else 0
        return len(field.choices) <= limits.MENU_OPTIONS and prefilled <= limits.MENU_OPTIONS
    if isinstance(value, str) and text_fitting.utf16_length(value) > limits.INPUT_TEXT:
        return False
    return (field.min_length or 0) <= limits.INPUT_TEXT


def _input(field: Field, value: FieldEntry, index: int, labels: Labels) -> list[Block]:
    optional = not isinstance(value_from_entries([field], {}), tuple)
    element, above = _element(field, value, labels, optional)
    hint = _hint(field, labels) or None
    made = input_block(field.title, block_id(index), element, optional=optional, hint=hint)
    return [*above, made]


def _element(
    field: Field, value: FieldEntry, labels: Labels, optional: bool
) -> tuple[Block, list[Block]]:
    """The input element of a field, and the blocks above it that show its choices in full if the input cuts them."""
    if field.kind is FieldKind.BOOLEAN:
        chosen = [] if value is None else [0 if value else 1]
        return _menu([labels.yes, labels.no], [None, None], chosen, labels, radio=not optional)
    if field.kind in {FieldKind.CHOICE, FieldKind.CHOICES}:
        titles = [choice.title for choice in field.choices]
        descriptions = [choice.description for choice in field.choices]
        chosen = value if isinstance(value, list) else []
        several = field.kind is FieldKind.CHOICES
        radio = len(titles) <= limits.BOXES and (several or not optional)
        return _menu(titles, descriptions, chosen, labels, radio=radio, several=several)
    return _text_element(field, value if isinstance(value, str) else None), []


def _menu(
    titles: Sequence[str],
    descriptions: Sequence[str | None],
    chosen: Sequence[int],
    labels: Labels,
    *,
    radio: bool,
    several: bool = False,
) -> tuple[Block, list[Block]]:
    """Radio buttons, checkboxes or a menu. An optional single choice is a menu, as only a menu can be cleared."""
    cut = any(_would_be_cut(title, limits.OPTION_TEXT) for title in titles) or any(
        _would_be_cut(description, limits.OPTION_DESCRIPTION) for description in descriptions
    )
    made = [
        option_object(
            f"{i + 1}. {one_line(title)}" if cut else title, str(i), None if cut else description
        )
        for i, (title, description) in enumerate(zip(titles, descriptions, strict=True))
    ]
    kind = ("checkboxes" if several else "radio_buttons") if radio else "static_select"
    kind = "multi_static_select" if several and not radio else kind
    element: Block = {"type": kind, "action_id": ACTION_ID, **options_or_groups(made)}
    if "select" in kind:
        element["placeholder"] = plain_text(labels.choose, limits.PLACEHOLDER)
    if several and chosen:
        element["initial_options"] = [made[i] for i in chosen]
    elif chosen:
        element["initial_option"] = made[chosen[0]]
    listed = "\n".join(
        f"{i}. {title}" + (f"\n{description}" if description else "")
        for i, (title, description) in enumerate(zip(titles, descriptions, strict=True), 1)
    )
    return element, sections(listed) if cut else []


def _text_element(field: Field, value: str | None) -> Block:
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
        element["placeholder"] = plain_text(hint, limits.PLACEHOLDER)
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


def _hint(field: Field, labels: Labels) -> str:
    """The field's description, and the constraints that its input does not show."""
    parts = [field.description or ""]
    if field.kind is FieldKind.TEXT:
        low, high = field.min_length, field.max_length
        if low and high is not None:
            parts.append(f"{low}–{high} characters")
        elif low or high is not None:
            parts.append(f"at least {low} characters" if low else f"at most {high} characters")
        if field.pattern:
            parts.append(f"pattern: {field.pattern}")
    elif bounds := describe_bounds(field, labels):
        parts.append(bounds)
    return " · ".join(part for part in parts if part.strip())


def _parse_entry(field: Field, before: FieldEntry, value: FieldEntry) -> FieldEntry:
    if field.kind is FieldKind.BOOLEAN:
        return value == [0] if isinstance(value, list) and value else None
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
    """Whether a date-time with this prefill gets a datetimepicker; any other is typed as text."""
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


def _would_be_cut(text: str | None, limit: int) -> bool:
    return text is not None and (
        text_fitting.utf16_length(text) > limit or one_line(text) != text.strip()
    )
