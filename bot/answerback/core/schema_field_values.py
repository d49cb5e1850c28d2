"""What a person entered in the fields of a flat schema, as a value and back, and JSON typed as text; pure.

Surfaces hand in what their inputs hold: text as it was typed, yes or no, the indexes of what was
chosen. Every mistake comes with words for the person and the pointer of its field. The whole value
is still to be checked against the schema (`answerback.core.answers.check_answer`): its pointers lead to the
fields, too.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias

from pydantic import JsonValue

from answerback.core.errors import Problem
from answerback.core.json_schema import schemas
from answerback.core.schema_fields import NUMBER_KINDS, TEXT_KINDS, Field, FieldKind, json_value_key

FieldEntry: TypeAlias = str | bool | list[int] | None
"""What stands in one field: text, yes or no, the indexes of what is chosen; None: left empty."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,300}", re.ASCII)
_NUMBER: Final = re.compile(
    r"[+-]?([0-9]{1,300}(\.[0-9]{0,300})?|\.[0-9]{1,300})([eE][+-]?[0-9]{1,4})?", re.ASCII
)
_LOOSE_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ]+(\d\d:\d\d)(:\d\d(?:\.\d+)?)? ?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_WANTED: Final = {
    FieldKind.EMAIL: ("email", "must be an email address", "name@example.com"),
    FieldKind.URI: ("uri", "must be a web address", "https://example.com"),
    FieldKind.DATE: ("date", "must be a date", "2026-05-31"),
    FieldKind.DATE_TIME: (
        "date-time",
        "must be a date and time with its zone",
        "2026-05-31T14:30:00Z",
    ),
}
"""The format of each kind that has one, what a person is told of it, and an example."""


def entries_from_value(fields: Sequence[Field], value: JsonValue) -> dict[str, FieldEntry]:
    """What the fields start from: a value's parts, or their own defaults where there is no value."""
    if value is not None and fields and fields[0].is_whole:
        return {f.name: _entry(f, value) for f in fields}
    if isinstance(value, dict):
        return {f.name: _entry(f, value.get(f.name)) for f in fields}
    return {f.name: _entry(f, f.default) for f in fields}


def value_from_entries(
    fields: Sequence[Field], entries: Mapping[str, FieldEntry]
) -> JsonValue | tuple[Problem, ...]:
    """The value that a person entered, or every mistake found, each with the pointer of its field.

    Optional fields that were left empty are absent from the value.
    """
    value: dict[str, JsonValue] = {}
    problems: list[Problem] = []
    for each in fields:
        entry = entries.get(each.name)
        found = _left_empty(each) if _is_empty(each, entry) else _value(each, entry)
        if isinstance(found, Problem):
            problems.append(found)
        elif found is not _ABSENT:
            value[each.name] = found.value
    if problems:
        return tuple(problems)
    return value[fields[0].name] if fields and fields[0].is_whole else value


def placeholder(of: Field) -> str:
    """What an empty input of a field shows: an example, or the bounds of a number; empty where any text will do."""
    if of.example is not None and of.kind in TEXT_KINDS:
        return of.example
    if of.kind in _WANTED:
        return _WANTED[of.kind][2]
    return _expected(of).removeprefix("must be ")


def parse_json_answer(text: str) -> JsonValue | Problem:
    """The JSON value that a person typed, or what is wrong with it and where."""
    if not text.strip():
        return Problem(pointer="", code="empty", message="Type the answer as JSON.")
    try:
        value: JsonValue = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_bounded_int,
            object_pairs_hook=_unique,
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        return _not_json(f"This is not JSON: {error.msg}, at {where}.")
    except RecursionError:
        return _not_json("This JSON is nested too deeply.")
    except _RefusedJsonError as error:
        return _not_json(str(error))
    return value


@dataclass(frozen=True, slots=True)
class _Made:
    value: JsonValue


_ABSENT: Final = _Made(None)


def _entry(of: Field, value: JsonValue) -> FieldEntry:
    if value is None:
        return None
    if of.kind is FieldKind.CHOICES:
        return _among(of, value if isinstance(value, list) else [])
    if of.kind is FieldKind.CHOICE:
        return _among(of, [value]) or None
    if of.kind is FieldKind.BOOLEAN:
        return value if isinstance(value, bool) else None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _among(of: Field, values: list[JsonValue]) -> list[int]:
    """The indexes of the choices that are among these values; as JSON, true is not 1."""
    chosen = {json_value_key(value) for value in values}
    return [i for i, choice in enumerate(of.choices) if json_value_key(choice.value) in chosen]


def _is_empty(of: Field, entry: FieldEntry) -> bool:
    if isinstance(entry, str):
        # Blanks are text where any text is; elsewhere nobody means anything by them.
        return not (entry if of.kind is FieldKind.TEXT else entry.strip())
    return entry is None or entry == []


def _left_empty(of: Field) -> _Made | Problem:
    if of.nullable and (of.required or of.default is not None):
        return _Made(None)
    if not of.required:
        return _ABSENT
    if of.kind is FieldKind.CHOICES and of.min_items == 0:
        return _Made([])
    if of.kind is FieldKind.TEXT and of.default == "":
        return _Made("")
    match of.kind:
        case FieldKind.BOOLEAN:
            words = "needs a yes or a no"
        case FieldKind.CHOICE:
            words = "needs a choice"
        case FieldKind.CHOICES:
            words = f"needs at least {_count(of.min_items, 'choice')}"
        case _:
            words = f"is required: {_expected(of)}" if _expected(of) else "is required"
    return _wrong(of, "required", words)


def _value(of: Field, entry: FieldEntry) -> _Made | Problem:
    if of.kind in {FieldKind.CHOICE, FieldKind.CHOICES} and isinstance(entry, list):
        return _chosen(of, entry)
    if of.kind is FieldKind.BOOLEAN and isinstance(entry, bool):
        return _Made(entry)
    if of.kind in NUMBER_KINDS and isinstance(entry, str):
        return _number(of, entry)
    if of.kind in TEXT_KINDS and isinstance(entry, str):
        return _string(of, entry)
    return _wrong(of, "wrong_type", "was not entered in a way that is understood: enter it again")


def _chosen(of: Field, entry: list[int]) -> _Made | Problem:
    indexes = sorted(set(entry))
    if indexes[0] < 0 or indexes[-1] >= len(of.choices):
        return _wrong(of, "unknown_value", "must be one of the choices offered")
    values = [of.choices[i].value for i in indexes]
    if of.kind is FieldKind.CHOICE:
        return (
            _Made(values[0])
            if len(values) == 1
            else _wrong(of, "too_many", "takes one choice only")
        )
    if len(values) < of.min_items:
        return _wrong(of, "too_few", f"needs at least {_count(of.min_items, 'choice')}")
    if of.max_items is not None and len(values) > of.max_items:
        return _wrong(of, "too_many", f"takes at most {_count(of.max_items, 'choice')}")
    return _Made(values)


def _number(of: Field, entry: str) -> _Made | Problem:
    text = entry.strip().replace("\N{MINUS SIGN}", "-")
    number: float | None = None
    if _INTEGER.fullmatch(text):
        number = int(text)
    elif _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        number = float(text)
        if of.kind is FieldKind.INTEGER:
            number = int(number) if number.is_integer() else None
    if number is None:
        return _wrong(of, "wrong_type", _expected(of))
    outside = (
        (of.minimum is not None and number < of.minimum)
        or (of.maximum is not None and number > of.maximum)
        or (of.exclusive_minimum is not None and number <= of.exclusive_minimum)
        or (of.exclusive_maximum is not None and number >= of.exclusive_maximum)
    )
    return _wrong(of, "unknown_value", _expected(of)) if outside else _Made(number)


def _string(of: Field, entry: str) -> _Made | Problem:
    text = entry if of.kind is FieldKind.TEXT else entry.strip()
    if of.kind is FieldKind.DATE_TIME and (loose := _LOOSE_TIME.fullmatch(text)):
        text = f"{loose[1]}T{loose[2]}{loose[3] or ':00'}{loose[4]}"
    if not schemas.is_encodable(text):
        return _wrong(of, "wrong_type", "holds half a character: delete it and type it again")
    if of.min_length is not None and len(text) < of.min_length:
        return _wrong(of, "unknown_value", f"needs at least {_count(of.min_length, 'character')}")
    if of.max_length is not None and len(text) > of.max_length:
        over = len(text) - of.max_length
        most = _count(of.max_length, "character")
        return _wrong(of, "too_long", f"takes at most {most}: shorten it by {over}")
    if of.kind in _WANTED:
        name = _WANTED[of.kind][0]
        if schemas.violations({"type": "string", "format": name}, text):
            return _wrong(of, "unknown_value", _expected(of))
    if of.pattern is not None and schemas.violations({"pattern": of.pattern}, text):
        return _wrong(of, "unknown_value", f"must match the pattern {of.pattern}")
    return _Made(text)


def _expected(of: Field) -> str:
    """What a field takes, as the end of a sentence; empty where any text will do."""
    if of.kind in _WANTED:
        _, words, example = _WANTED[of.kind]
        return f"{words}, such as {example}"
    if of.kind not in NUMBER_KINDS:
        return ""
    bounds = (
        ("at least", of.minimum),
        ("more than", of.exclusive_minimum),
        ("at most", of.maximum),
        ("less than", of.exclusive_maximum),
    )
    words = " and ".join(f"{word} {bound}" for word, bound in bounds if bound is not None)
    noun = "must be a whole number" if of.kind is FieldKind.INTEGER else "must be a number"
    return f"{noun}, {words}" if words else noun


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _wrong(of: Field, code: str, words: str) -> Problem:
    return Problem(pointer=of.pointer, code=code, message=f"{of.title} {words}.")


class _RefusedJsonError(ValueError):
    """JSON that parses and still is no JSON value, or not one."""


def _refuse_constant(name: str) -> NoReturn:
    raise _RefusedJsonError(f"{name} is no JSON: write a number, or null.")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _RefusedJsonError(f"{text[:40]} is too large a number.")
    return number


def _bounded_int(text: str) -> int:
    if len(text) > 300:
        raise _RefusedJsonError(f"{text[:40]}… is too large a number.")
    return int(text)


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _RefusedJsonError(f'"{twice}" is there twice in one object: keep one of them.')
    return value


def _not_json(message: str) -> Problem:
    return Problem(pointer="", code="wrong_type", message=message)
