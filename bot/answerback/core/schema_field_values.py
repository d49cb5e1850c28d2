"""Convert the entries of a flat schema's fields to a value and back, and parse JSON typed as text. Pure.

Surfaces pass the contents of their inputs: text as typed, a yes or no, or the indexes of the chosen options. Every
problem has a message for the person and the pointer of its field. The whole value must still be checked against the
schema (`answerback.core.answers.check_answer`); that check's pointers lead to the fields as well.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pydantic import JsonValue

from answerback.core.errors import Problem
from answerback.core.format_labels import FormatLabels
from answerback.core.json_schema import schemas
from answerback.core.pattern_words import describe_pattern
from answerback.core.schema_fields import NUMBER_KINDS, TEXT_KINDS, Field, FieldKind, json_value_key
from answerback.core.typed_text import is_blank
from answerback_base import strict_json

FieldEntry: TypeAlias = "str | bool | list[int] | tuple[Mapping[str, FieldEntry], ...] | None"
"""The content of one field: text, a yes or no, the indexes of the chosen options, or rows of entries by the name of
their column; None: left empty."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,300}", re.ASCII)
_NUMBER: Final = re.compile(
    r"[+-]?([0-9]{1,300}(\.[0-9]{0,300})?|\.[0-9]{1,300})([eE][+-]?[0-9]{1,4})?", re.ASCII
)
_LOOSE_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ]+(\d\d:\d\d)(:\d\d(?:\.\d+)?)? ?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_FORMATS: Final = {
    FieldKind.EMAIL: ("email", "must be an email address", "name@example.com"),
    FieldKind.URI: ("uri", "must be a web address", "https://example.com"),
    FieldKind.DATE: ("date", "must be a date", "2026-05-31"),
    FieldKind.DATE_TIME: (
        "date-time",
        "must be a date and time with its zone",
        "2026-05-31T14:30:00Z",
    ),
}
"""For each kind with a format: the format's name, what to tell the person, and an example."""


def entries_from_value(
    fields: Sequence[Field], value: JsonValue, *, is_set: bool = False
) -> dict[str, FieldEntry]:
    """Return the initial entries of the fields: the parts of a value or, without one, the fields' defaults.

    Args:
        is_set: whether null is a value, such as an earlier answer.
    """
    if (value is not None or is_set) and fields and fields[0].is_whole:
        return {f.name: _entry(f, value) for f in fields}
    if isinstance(value, dict):
        return {f.name: _entry(f, value.get(f.name)) for f in fields}
    return {f.name: _entry(f, f.default) for f in fields}


def needs_entry(field: Field) -> bool:
    """Return True if leaving a field empty is certainly not a valid answer."""
    return isinstance(_value_if_empty(field), Problem)


def value_from_entries(
    fields: Sequence[Field], entries: Mapping[str, FieldEntry]
) -> JsonValue | tuple[Problem, ...]:
    """Return the value that a person entered, or every problem found, each with the pointer of its field.

    Optional fields that were left empty are absent from the value.
    """
    value: dict[str, JsonValue] = {}
    problems: list[Problem] = []
    for each in fields:
        entry = entries.get(each.name)
        parsed: _Parsed | Problem | tuple[Problem, ...]
        if _is_empty(each, entry):
            parsed = _value_if_empty(each)
        elif isinstance(entry, tuple):
            parsed = _rows(each, entry)
        else:
            parsed = _value(each, entry)
        if isinstance(parsed, Problem):
            problems.append(parsed)
        elif isinstance(parsed, tuple):
            problems += parsed
        elif parsed is not _ABSENT:
            value[each.name] = parsed.value
    if problems:
        return tuple(problems)
    return value[fields[0].name] if fields and fields[0].is_whole else value


def is_blank_row(field: Field, row: Mapping[str, FieldEntry]) -> bool:
    """Return True if nothing is entered in a row, which is then left out."""
    return all(_is_empty(column, row.get(column.name)) for column in field.columns)


def can_hold(field: Field, value: JsonValue) -> bool:
    """Return True if a field of rows shows this value without losing any of it, so that it is sent as it came."""
    read = value_from_entries((field,), {field.name: _entry(field, value)})
    whole: JsonValue = value if field.is_whole else {field.name: value}
    return not isinstance(read, tuple) and json_value_key(read) == json_value_key(whole)


def placeholder(field: Field) -> str:
    """Return a field's placeholder: an example or a number's bounds; empty if any text is valid."""
    if field.example is not None and field.kind in TEXT_KINDS:
        return field.example
    if field.kind in _FORMATS:
        return _FORMATS[field.kind][2]
    return _expected(field).removeprefix("must be ")


def parse_json_answer(text: str) -> JsonValue | Problem:
    """Parse the JSON that a person typed, or return what is wrong with it and where."""
    if is_blank(text):
        return Problem(pointer="", code="empty", message="Type the answer as JSON.")
    try:
        return strict_json.parse(text)
    except strict_json.NotJsonError as error:
        why, cause = str(error), error.__cause__
        if isinstance(cause, json.JSONDecodeError):
            where = f"line {cause.lineno}, column {cause.colno}"
            why = f"{_JSON_ERRORS.get(cause.msg, cause.msg)}, at {where}"
        return Problem(pointer="", code="wrong_type", message=f"This is not JSON: {why}.")


@dataclass(frozen=True, slots=True)
class _Parsed:
    value: JsonValue


_ABSENT: Final = _Parsed(None)


def _entry(field: Field, value: JsonValue) -> FieldEntry:
    if value is None:
        return None
    if field.kind is FieldKind.CHOICES:
        return _choice_indexes(field, value if isinstance(value, list) else [])
    if field.kind is FieldKind.ROWS:
        objects = [
            each for each in (value if isinstance(value, list) else []) if isinstance(each, dict)
        ]
        return tuple(entries_from_value(field.columns, each) for each in objects)
    if field.kind is FieldKind.CHOICE:
        return _choice_indexes(field, [value]) or None
    if field.kind is FieldKind.BOOLEAN:
        return value if isinstance(value, bool) else None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _choice_indexes(field: Field, values: list[JsonValue]) -> list[int]:
    """Return the indexes of the choices that are among these JSON values; true is not 1."""
    chosen = {json_value_key(value) for value in values}
    return [i for i, choice in enumerate(field.choices) if json_value_key(choice.value) in chosen]


def _is_empty(field: Field, entry: FieldEntry) -> bool:
    if isinstance(entry, str):
        # In a text field, spaces are text; in other fields they mean nothing.
        return not entry or (
            is_blank(entry) and not (field.kind is FieldKind.TEXT and entry.isspace())
        )
    if isinstance(entry, tuple):
        return all(is_blank_row(field, row) for row in entry)
    return entry is None or entry == []


def _value_if_empty(field: Field) -> _Parsed | Problem:
    if field.nullable and (field.required or field.default is not None):
        return _Parsed(None)
    if field.kind is FieldKind.ROWS and field.default is not None and field.min_items == 0:
        return _Parsed([])  # its rows were removed
    if not field.required:
        return _ABSENT
    if field.kind in {FieldKind.CHOICES, FieldKind.ROWS} and field.min_items == 0:
        return _Parsed([])
    if field.kind is FieldKind.TEXT and field.default == "":
        return _Parsed("")
    match field.kind:
        case FieldKind.BOOLEAN:
            text = "needs a yes or a no"
        case FieldKind.CHOICE:
            text = "needs a choice"
        case FieldKind.CHOICES:
            text = f"needs at least {_count(field.min_items, 'choice')}"
        case FieldKind.ROWS:
            text = f"needs at least {_count(field.min_items, 'row')}"
        case _:
            text = f"is required: {_expected(field)}" if _expected(field) else "is required"
    return _problem(field, "required", text)


def _value(field: Field, entry: FieldEntry) -> _Parsed | Problem:
    if field.kind in {FieldKind.CHOICE, FieldKind.CHOICES} and isinstance(entry, list):
        return _choice(field, entry)
    if field.kind is FieldKind.BOOLEAN and isinstance(entry, bool):
        return _Parsed(entry)
    if field.kind in NUMBER_KINDS and isinstance(entry, str):
        return _number(field, entry)
    if field.kind in TEXT_KINDS and isinstance(entry, str):
        return _string(field, entry)
    return _problem(field, "wrong_type", "could not be read: enter it again")


def _rows(
    field: Field, entry: tuple[Mapping[str, FieldEntry], ...]
) -> _Parsed | Problem | tuple[Problem, ...]:
    """Return the objects of the rows in which something is entered."""
    rows = [row for row in entry if not is_blank_row(field, row)]
    if len(rows) < field.min_items:
        return _problem(field, "too_few", f"needs at least {_count(field.min_items, 'row')}")
    if field.max_items is not None and len(rows) > field.max_items:
        return _problem(field, "too_many", f"takes at most {_count(field.max_items, 'row')}")
    values: list[JsonValue] = []
    problems: list[Problem] = []
    for number, row in enumerate(rows):
        read = value_from_entries(field.columns, row)
        if not isinstance(read, tuple):
            values.append(read)
            continue
        problems += [
            each.model_copy(
                update={
                    "pointer": f"{field.pointer}/{number}{each.pointer}",
                    "message": f"{field.title} {number + 1}: {each.message}",
                }
            )
            for each in read
        ]
    return tuple(problems) if problems else _Parsed(values)


def _choice(field: Field, entry: list[int]) -> _Parsed | Problem:
    indexes = sorted(set(entry))
    if indexes[0] < 0 or indexes[-1] >= len(field.choices):
        return _problem(field, "unknown_value", "must be one of the choices offered")
    values = [field.choices[i].value for i in indexes]
    if field.kind is FieldKind.CHOICE:
        return (
            _Parsed(values[0])
            if len(values) == 1
            else _problem(field, "too_many", "takes only one choice")
        )
    if len(values) < field.min_items:
        return _problem(field, "too_few", f"needs at least {_count(field.min_items, 'choice')}")
    if field.max_items is not None and len(values) > field.max_items:
        return _problem(field, "too_many", f"takes at most {_count(field.max_items, 'choice')}")
    return _Parsed(values)


def _number(field: Field, entry: str) -> _Parsed | Problem:
    text = entry.strip().replace("\N{MINUS SIGN}", "-")
    number: float | None = None
    if _INTEGER.fullmatch(text):
        number = int(text)
    elif _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        number = float(text)
        if field.kind is FieldKind.INTEGER:
            number = int(number) if number.is_integer() else None
    if number is None:
        return _problem(field, "wrong_type", _expected(field))
    outside = (
        (field.minimum is not None and number < field.minimum)
        or (field.maximum is not None and number > field.maximum)
        or (field.exclusive_minimum is not None and number <= field.exclusive_minimum)
        or (field.exclusive_maximum is not None and number >= field.exclusive_maximum)
    )
    return _problem(field, "unknown_value", _expected(field)) if outside else _Parsed(number)


def _string(field: Field, entry: str) -> _Parsed | Problem:
    text = entry if field.kind is FieldKind.TEXT else entry.strip()
    if field.kind is FieldKind.DATE_TIME and (loose := _LOOSE_TIME.fullmatch(text)):
        text = f"{loose[1]}T{loose[2]}{loose[3] or ':00'}{loose[4]}"
    if not strict_json.is_encodable(text):
        return _problem(
            field, "wrong_type", "contains half a character: delete it and type it again"
        )
    if field.min_length is not None and len(text) < field.min_length:
        return _problem(
            field, "unknown_value", f"needs at least {_count(field.min_length, 'character')}"
        )
    if field.max_length is not None and len(text) > field.max_length:
        over = len(text) - field.max_length
        most = _count(field.max_length, "character")
        return _problem(field, "too_long", f"takes at most {most}: shorten it by {over}")
    if field.kind in _FORMATS:
        name = _FORMATS[field.kind][0]
        if schemas.violations({"type": "string", "format": name}, text):
            return _problem(field, "unknown_value", _expected(field))
    if field.pattern is not None and schemas.violations({"pattern": field.pattern}, text):
        return _problem(field, "unknown_value", _expected_by(field.pattern, field.description))
    return _Parsed(text)


def _expected(field: Field) -> str:
    """Return what a field takes, as the end of a sentence; empty if any text is valid."""
    if field.kind in _FORMATS:
        _, text, example = _FORMATS[field.kind]
        return f"{text}, such as {example}"
    if field.kind not in NUMBER_KINDS:
        return ""
    bounds = (
        ("at least", field.minimum),
        ("more than", field.exclusive_minimum),
        ("at most", field.maximum),
        ("less than", field.exclusive_maximum),
    )
    text = " and ".join(f"{word} {bound}" for word, bound in bounds if bound is not None)
    noun = "must be a whole number" if field.kind is FieldKind.INTEGER else "must be a number"
    return f"{noun}, {text}" if text else noun


def _expected_by(pattern: str, description: str | None) -> str:
    """Return what fits a pattern, as the end of a sentence."""
    text = describe_pattern(pattern, FormatLabels()) or (description or "").rstrip(" .")
    return f"must have this format: {text}" if text else f"must match the pattern {pattern}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _problem(field: Field, code: str, message: str) -> Problem:
    return Problem(pointer=field.pointer, code=code, message=f"{field.title} {message}.")


_JSON_ERRORS: Final = {
    "Expecting value": "a value is missing",
    "Expecting property name enclosed in double quotes": "a name in double quotes is missing",
    "Expecting ',' delimiter": "a comma is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Illegal trailing comma before end of array": "nothing follows a comma",
    "Illegal trailing comma before end of object": "nothing follows a comma",
    "Unterminated string starting at": "a text has no closing quote",
    "Invalid control character at": "a text has a line break or another control character in it",
    "Extra data": "something follows the end of the value",
}
"""The parser's most common messages, in words."""
