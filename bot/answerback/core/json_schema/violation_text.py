"""Why a value does not fit a JSON Schema, in words for the person who wrote it. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from pydantic import JsonValue

_TYPES: Final = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_TEXTS: Final[dict[str, Callable[[Any], str]]] = {
    "Type": lambda kind: f"must be {_either([_TYPES[each] for each in kind.types])}",
    "Enum": lambda kind: (
        f"must be {_either(map(_json, kind.options))}" if kind.options else "is not allowed"
    ),
    "Constant": lambda kind: f"must be {_json(kind.expected_value)}",
    "Required": lambda kind: f"has no {_json(kind.property)}, which is required",
    "Minimum": lambda kind: f"must be at least {kind.limit}",
    "Maximum": lambda kind: f"must be at most {kind.limit}",
    "ExclusiveMinimum": lambda kind: f"must be more than {kind.limit}",
    "ExclusiveMaximum": lambda kind: f"must be less than {kind.limit}",
    "MultipleOf": lambda kind: f"must be a multiple of {kind.multiple_of}",
    "MinLength": lambda kind: f"must have at least {_count(kind.limit, 'character')}",
    "MaxLength": lambda kind: f"must have at most {_count(kind.limit, 'character')}",
    "MinItems": lambda kind: f"must have at least {_count(kind.limit, 'item')}",
    "MaxItems": lambda kind: f"must have at most {_count(kind.limit, 'item')}",
    "MinProperties": lambda kind: f"must have at least {_count(kind.limit, 'field')}",
    "MaxProperties": lambda kind: f"must have at most {_count(kind.limit, 'field')}",
    "UniqueItems": lambda _: "must not have the same item twice",
    "AnyOf": lambda _: "has none of the forms that are allowed",
    "OneOfNotValid": lambda _: "has none of the forms that are allowed",
    "OneOfMultipleValid": lambda _: (
        "has more than one of the forms of which it must have exactly one"
    ),
    "Pattern": lambda kind: f"must match the pattern {kind.pattern}",
    "Format": lambda kind: f"must have the format {kind.format}",
    "Contains": lambda _: "lacks an item that it must contain",
    "Not": lambda _: "is excluded",
    "FalseSchema": lambda _: "is not allowed",
    "AdditionalProperties": lambda kind: _unexpected(kind.unexpected),
    "UnevaluatedProperties": lambda kind: _unexpected(kind.unexpected),
}
"""The end of a sentence about the value, by the kind of violation. The engine's own message serves for the others."""


def violation_text(kind: object) -> str | None:
    """Return what is wrong with a value, to follow its name; None for a kind that has no text of ours."""
    text = _TEXTS.get(type(kind).__name__)
    return text(kind) if text else None


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _either(names: Any) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _unexpected(names: list[str]) -> str:
    return f"may not have {', '.join(map(_json, names))}"
