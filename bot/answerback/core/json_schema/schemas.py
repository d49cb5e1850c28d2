"""JSON Schemas that a stranger wrote: refused at submit when unusable, checked in bounded time afterwards.

Owns the bounds that keep a hostile schema from holding the process: what one schema may be, what all schemas of a
call may take together, and what checking one answer may cost. Nothing is fetched. `require_usable` takes up to half a
second for the largest call that is accepted, and belongs off the event loop; `violations` takes at most 50 ms.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import islice
from typing import Final

import jsonschema_rs
from pydantic import JsonValue

from answerback.core.errors import Problem
from answerback.core.form import MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH
from answerback.core.json_schema import subschemas, validators
from answerback.core.json_schema.validation_cost import MAX_COST, Size, size
from answerback.core.json_schema.validators import collect_patterns, compile_schema

MAX_VALUE_DEPTH: Final = 64
"""Levels of arrays and objects in an answer."""
MAX_SCHEMAS: Final = 2_000
"""Schemas in all schemas of a call: checking as many against a metaschema takes half a second."""
MAX_PATTERNS: Final = 500
"""Patterns in all schemas of a call."""
MAX_PATTERN_TEXT: Final = 20_000
"""Characters of all patterns of a call."""
MAX_CLASSES: Final = 100
r"""Unicode classes (``\p{L}``) in all patterns of a call: one may take a tenth of a millisecond to expand."""
MAX_PATTERN_BYTES: Final = 2 * validators.MAX_COMPILED_PATTERN_BYTES
"""What all patterns of a call may take when they are compiled."""
_MAX_VIOLATIONS: Final = 20
_MAX_SHOWN: Final = 300
_LISTED: Final = 5_000
"""Comparisons up to which every mistake is listed: making the words for one may take 6 µs a comparison."""
_MAX_LONG_NUMBERS: Final = 100
_LONG_NUMBER: Final = re.compile(r"\d{19}")
_CLASS: Final = re.compile(r"\\[pP]")
_CODES: Final = {
    "Required": "required",
    "Type": "wrong_type",
    "Enum": "unknown_value",
    "Constant": "unknown_value",
    "MaxLength": "too_long",
    "MaxItems": "too_many",
    "MaxProperties": "too_many",
    "MinItems": "too_few",
    "MinProperties": "too_few",
}


class InvalidSchemaError(ValueError):
    """A JSON Schema that cannot be used; the message says why."""


class SchemaTooLargeError(InvalidSchemaError):
    """A JSON Schema for which there is no room left in its call."""


@dataclass(slots=True)
class Budget:
    """What the schemas of one call take together."""

    schemas: int = 0
    patterns: int = 0
    characters: int = 0
    classes: int = 0
    pattern_bytes: int = 0

    def take(self, schema: JsonValue) -> None:
        """Counts one schema more.

        Raises:
            SchemaTooLargeError: it is one too many.
        """
        patterns = collect_patterns(schema)
        self.schemas += sum(1 for _ in subschemas.walk(schema))
        self.patterns += len(patterns)
        self.characters += sum(map(len, patterns))
        self.classes += sum(len(_CLASS.findall(pattern)) for pattern in patterns)
        if patterns:
            self.take_patterns(0)  # with nothing left, none is compiled to find out how large it is
        _require(self.schemas, MAX_SCHEMAS, "schemas, one inside the other,")
        _require(self.patterns, MAX_PATTERNS, "patterns")
        _require(self.characters, MAX_PATTERN_TEXT, "characters of patterns")
        _require(self.classes, MAX_CLASSES, r"Unicode classes (\p{…}) in patterns")

    def take_patterns(self, compiled_bytes: int) -> None:
        """Counts the patterns of one schema more, now that they are compiled.

        Raises:
            SchemaTooLargeError: they are too large.
        """
        self.pattern_bytes += compiled_bytes
        _require(self.pattern_bytes, MAX_PATTERN_BYTES, "bytes of compiled patterns")


def _require(taken: int, most: int, what: str) -> None:
    if taken > most:
        raise SchemaTooLargeError(
            f"with it the schemas of this call have {taken} {what}; {most} are allowed in one call. "
            "Simplify it, or ask in more than one call"
        )


def depth(value: object, limit: int) -> int:
    """How deep arrays and objects are nested in a JSON value, counted no further than ``limit + 1``."""
    return size(value, limit).depth


def is_encodable(text: str) -> bool:
    """Whether UTF-8 can carry a string (half a surrogate pair is not text)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_all_encodable(value: JsonValue) -> bool:
    """Whether every string in a JSON value, keys too, can be carried in UTF-8."""
    return is_encodable(json.dumps(value, ensure_ascii=False))


def require_usable(schema: JsonValue, budget: Budget | None = None) -> None:
    """Refuses a schema that is not valid, would fetch anything, or is past the bounds.

    Args:
        budget: what the schemas before it in the same call have taken.

    Raises:
        InvalidSchemaError: with the reason.
    """
    budget = budget or Budget()
    if not isinstance(schema, (dict, bool)):
        raise InvalidSchemaError("a JSON Schema is an object, true or false")
    if depth(schema, MAX_SCHEMA_DEPTH) > MAX_SCHEMA_DEPTH:
        raise InvalidSchemaError(f"it is nested deeper than {MAX_SCHEMA_DEPTH} levels")
    key = _key(schema)
    if not is_encodable(key):
        raise InvalidSchemaError("it holds half a surrogate pair, which is no text")
    if len(key.encode()) > MAX_SCHEMA_BYTES:
        raise InvalidSchemaError(f"it is longer than {MAX_SCHEMA_BYTES} bytes")
    _refuse_references(schema)
    budget.take(schema)
    # Most services meet no schema for a while, and no command does to show its help.
    from answerback.core.json_schema import metaschemas

    if (mistake := metaschemas.first_error(schema)) is not None:
        raise InvalidSchemaError(mistake)
    try:
        ready = compile_schema(key)
    except ValueError as error:
        raise InvalidSchemaError(_why_unusable(error)) from error
    budget.take_patterns(ready.pattern_bytes)
    cost = ready.cost(Size(1, (1, 1)), text_bytes=0)
    if cost is None or cost > MAX_COST:
        raise InvalidSchemaError(
            "its alternatives multiply past what can be checked; refer to fewer of them"
        )


def _why_unusable(error: ValueError) -> str:
    reason = error.message if isinstance(error, jsonschema_rs.ValidationError) else str(error)
    if reason.endswith('is not a "regex"'):
        return (
            f"{reason}, has look-around or back-references, which no engine matches in linear time, "
            "or repeats too much (the patterns of a schema may take 4 MiB compiled)"
        )
    return reason or "it cannot be compiled"


def violations(schema: JsonValue, value: JsonValue) -> tuple[Problem, ...]:
    """What keeps ``value`` from being valid against a usable schema; pointers are into the value."""
    measured = size(value, MAX_VALUE_DEPTH)
    if measured.depth > MAX_VALUE_DEPTH:
        return (_whole("too_long", f"The answer is nested deeper than {MAX_VALUE_DEPTH} levels."),)
    text = json.dumps(value, ensure_ascii=False)
    if not is_encodable(text):
        return (_whole("wrong_type", "The answer holds half a surrogate pair, which is no text."),)
    try:
        ready = compile_schema(_key(schema))
    except ValueError:  # it was accepted when the bounds were wider
        return (_whole("unknown_value", "The schema of this question is too large to be checked."),)
    cost = ready.cost(measured, len(text.encode()))
    if cost is None or cost > MAX_COST or _has_many_long_numbers(text, value):
        words = "The answer is too large to be checked against this schema: shorten it."
        return (_whole("too_long", words),)
    if ready.validator.is_valid(value):
        return ()
    if cost <= _LISTED:
        errors = islice(ready.validator.iter_errors(value), _MAX_VIOLATIONS)
        return tuple(_problem(error) for error in errors)
    return (_problem(_first_error(ready.validator, value)),)


def _has_many_long_numbers(text: str, value: JsonValue) -> bool:
    """Whether more numbers than anybody means do not fit into 64 bits: the engine takes 2 µs for any two of them."""
    if (
        len(_LONG_NUMBER.findall(text)) <= _MAX_LONG_NUMBERS
    ):  # as good as always: no more is looked at
        return False
    found, stack = 0, [value]
    while stack:
        node = stack.pop()
        found += isinstance(node, int) and node.bit_length() > 64
        if isinstance(node, (dict, list)):
            stack.extend(node.values() if isinstance(node, dict) else node)
    return found > _MAX_LONG_NUMBERS


def _first_error(
    validator: jsonschema_rs.Validator, value: JsonValue
) -> jsonschema_rs.ValidationError:
    """The first error alone: the engine makes all of them before it hands out one."""
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return error
    raise AssertionError("a value that is not valid has a mistake")


def _problem(error: jsonschema_rs.ValidationError) -> Problem:
    path = list(error.instance_path)
    kind = type(error.kind).__name__
    words = f"{_shown(error.message)}."
    message = f"{_shown(format_path(path))}: {words}" if path else words
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Required):
        path.append(error.kind.property)
    return Problem(
        pointer=json_pointer(path), code=_CODES.get(kind, "unknown_value"), message=message
    )


def format_path(path: list[str | int]) -> str:
    """A path of keys and indexes as people write it: ``servers[0].name``."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")


def _shown(message: str) -> str:
    return message if len(message) <= _MAX_SHOWN else message[: _MAX_SHOWN - 1] + "…"


def json_pointer(path: list[str | int]) -> str:
    """A path of keys and indexes as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _whole(code: str, message: str) -> Problem:
    return Problem(pointer="", code=code, message=message)


def _refuse_references(schema: JsonValue) -> None:
    """Only pointers inside the schema itself are followed, and no base address may move them."""
    for node in subschemas.walk(schema):
        for word in subschemas.REFERENCES:
            target = node.get(word)
            if isinstance(target, str) and target != "#" and not target.startswith("#/"):
                raise InvalidSchemaError(
                    f'{word} "{target[:100]}" is not allowed: only "#" and "#/…" are followed'
                )
        if isinstance(node.get("$id"), str):
            raise InvalidSchemaError(
                "$id is not allowed: refer to parts of the schema by #/$defs/…"
            )


def _key(schema: JsonValue) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
