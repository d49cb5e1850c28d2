"""Untrusted JSON Schemas: unusable ones are rejected at submission, and answers are checked in bounded time.

Defines the limits that keep a hostile schema from blocking the process: the size of one schema, the total of all
schemas in a call, and the cost of checking one answer. Nothing is fetched. `require_usable` takes up to half a second
for the largest accepted call and belongs off the event loop; `violations` takes at most 50 ms.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from pydantic import JsonValue

from answerback.core.errors import Problem
from answerback.core.form import MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH
from answerback.core.json_schema import subschemas, validators
from answerback.core.json_schema.validation_cost import MAX_COST
from answerback.core.json_schema.validators import collect_patterns, compile_schema
from answerback.core.json_schema.violation_text import violation_text
from answerback_base.strict_json import Size, is_encodable, nodes, size

if TYPE_CHECKING:
    import jsonschema_rs

MAX_VALUE_DEPTH: Final = 64
"""Levels of nested arrays and objects in an answer."""
MAX_SCHEMAS: Final = 2_000
"""Subschemas in all schemas of a call; checking that many against a metaschema takes half a second."""
MAX_PATTERNS: Final = 500
"""Patterns in all schemas of a call."""
MAX_PATTERN_TEXT: Final = 20_000
"""Total characters of all patterns in a call."""
MAX_CLASSES: Final = 100
r"""Unicode classes (``\p{L}``) in all patterns of a call; each may take a tenth of a millisecond to expand."""
MAX_PATTERN_BYTES: Final = 2 * validators.MAX_COMPILED_PATTERN_BYTES
"""Total size of all compiled patterns of a call."""
_MAX_VIOLATIONS: Final = 20
_MAX_SHOWN: Final = 300
_MAX_COST_TO_LIST_ALL: Final = 5_000
"""Comparisons up to which every error is listed: formatting one error may take 6 µs per comparison."""
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
    """A JSON Schema that cannot be used; the message gives the reason."""


class SchemaTooLargeError(InvalidSchemaError):
    """A JSON Schema that exceeds the budget of its call."""


@dataclass(slots=True)
class Budget:
    """The running totals of all schemas of one call."""

    schemas: int = 0
    patterns: int = 0
    characters: int = 0
    classes: int = 0
    pattern_bytes: int = 0

    def take(self, schema: JsonValue) -> None:
        """Add a schema to the totals.

        Raises:
            SchemaTooLargeError: a total is over its limit.
        """
        patterns = collect_patterns(schema)
        self.schemas += sum(1 for _ in subschemas.walk(schema))
        self.patterns += len(patterns)
        self.characters += sum(map(len, patterns))
        self.classes += sum(len(_CLASS.findall(pattern)) for pattern in patterns)
        if patterns:
            # If the budget is exhausted, don't compile just to learn the size.
            self.take_patterns(0)
        _require_at_most(self.schemas, MAX_SCHEMAS, "schemas, including nested ones")
        _require_at_most(self.patterns, MAX_PATTERNS, "patterns")
        _require_at_most(self.characters, MAX_PATTERN_TEXT, "characters of patterns")
        _require_at_most(self.classes, MAX_CLASSES, r"Unicode classes (\p{…}) in patterns")

    def take_patterns(self, compiled_bytes: int) -> None:
        """Add the size of a schema's compiled patterns to the totals.

        Raises:
            SchemaTooLargeError: the total is over its limit.
        """
        self.pattern_bytes += compiled_bytes
        _require_at_most(self.pattern_bytes, MAX_PATTERN_BYTES, "bytes of compiled patterns")


def _require_at_most(total: int, limit: int, unit: str) -> None:
    if total > limit:
        raise SchemaTooLargeError(
            f"with it, the schemas of this call have {total} {unit}; {limit} are allowed per call. "
            "Simplify it, or split the questions across several calls"
        )


def require_usable(schema: JsonValue, budget: Budget | None = None) -> None:
    """Reject a schema that is invalid, would need something fetched, or exceeds a limit.

    Args:
        budget: the totals of the earlier schemas in the same call.

    Raises:
        InvalidSchemaError: with the reason.
    """
    budget = budget or Budget()
    if not isinstance(schema, (dict, bool)):
        raise InvalidSchemaError("a JSON Schema must be an object, true or false")
    _reject_impossible(schema)
    if size(schema, MAX_SCHEMA_DEPTH).depth > MAX_SCHEMA_DEPTH:
        raise InvalidSchemaError(f"it is nested deeper than {MAX_SCHEMA_DEPTH} levels")
    key = _cache_key(schema)
    if not is_encodable(key):
        raise InvalidSchemaError("it contains half a surrogate pair, which is not valid text")
    if len(key.encode()) > MAX_SCHEMA_BYTES:
        raise InvalidSchemaError(f"it is longer than {MAX_SCHEMA_BYTES} bytes")
    _reject_references(schema)
    budget.take(schema)
    # Imported late: most services see no schema for a while, and commands that show help never need it.
    from answerback.core.json_schema import metaschemas

    if (error := metaschemas.first_error(schema)) is not None:
        raise InvalidSchemaError(error)
    try:
        compiled = compile_schema(key)
    except ValueError as compile_error:
        raise InvalidSchemaError(_why_unusable(compile_error)) from compile_error
    budget.take_patterns(compiled.pattern_bytes)
    cost = compiled.cost(Size(1, (1, 1)), text_bytes=0)
    if cost is None or cost > MAX_COST:
        raise InvalidSchemaError(
            "its alternatives multiply to more than can be checked; use fewer references to them"
        )


def _reject_impossible(schema: JsonValue) -> None:
    """Reject a schema that says itself, or of a required member, that nothing fits. No other part is searched."""
    if _allows_nothing(schema):
        raise InvalidSchemaError("no answer fits it: false, an empty enum and not {} allow nothing")
    members = schema.get("properties") if isinstance(schema, dict) else None
    required = schema.get("required") if isinstance(schema, dict) else None
    for name in required if isinstance(required, list) else ():
        member = members.get(name) if isinstance(members, dict) and isinstance(name, str) else None
        if _allows_nothing(member):
            raise InvalidSchemaError(
                f"no answer fits it: it requires {json.dumps(name)[:100]}, for which it allows no value"
            )


def _allows_nothing(schema: JsonValue) -> bool:
    """Return True if a schema literally allows no value."""
    if not isinstance(schema, dict):
        return schema is False
    return schema.get("enum") == [] or ("not" in schema and schema["not"] in ({}, True))


def _why_unusable(error: ValueError) -> str:
    import jsonschema_rs

    reason = error.message if isinstance(error, jsonschema_rs.ValidationError) else str(error)
    if reason.endswith('is not a "regex"'):
        return (
            f"{reason}, has look-around or back-references, which no engine matches in linear time, "
            "or repeats too much (a schema's compiled patterns may take up to 4 MiB)"
        )
    return reason or "it cannot be compiled"


def violations(schema: JsonValue, value: JsonValue) -> tuple[Problem, ...]:
    """Return why ``value`` is not valid against a usable schema; pointers are into the value."""
    measured = size(value, MAX_VALUE_DEPTH)
    if measured.depth > MAX_VALUE_DEPTH:
        return (
            _value_problem(
                "too_long", f"The answer is nested deeper than {MAX_VALUE_DEPTH} levels."
            ),
        )
    text = json.dumps(value, ensure_ascii=False)
    if not is_encodable(text):
        message = "The answer contains half a surrogate pair, which is not valid text."
        return (_value_problem("wrong_type", message),)
    try:
        compiled = compile_schema(_cache_key(schema))
    except ValueError:  # it was accepted when the limits were higher
        return (
            _value_problem(
                "unknown_value", "The schema of this question is too large to be checked."
            ),
        )
    cost = compiled.cost(measured, len(text.encode()))
    if cost is None or cost > MAX_COST or _has_many_long_numbers(text, value):
        message = "The answer is too large to be checked against this schema: shorten it."
        return (_value_problem("too_long", message),)
    if compiled.validator.is_valid(value):
        return ()
    if cost <= _MAX_COST_TO_LIST_ALL:
        errors = islice(compiled.validator.iter_errors(value), _MAX_VIOLATIONS)
        return tuple(_problem(error) for error in errors)
    return (_problem(_first_error(compiled.validator, value)),)


def _has_many_long_numbers(text: str, value: JsonValue) -> bool:
    """Return whether too many numbers do not fit into 64 bits: the engine takes 2 µs to compare two of them."""
    if len(_LONG_NUMBER.findall(text)) <= _MAX_LONG_NUMBERS:  # nearly always the case
        return False
    long = (node for node in nodes(value) if isinstance(node, int) and node.bit_length() > 64)
    return sum(1 for _ in long) > _MAX_LONG_NUMBERS


def _first_error(
    validator: jsonschema_rs.Validator, value: JsonValue
) -> jsonschema_rs.ValidationError:
    """Return only the first error: the engine's iterator would build all errors before yielding one."""
    import jsonschema_rs

    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return error
    raise AssertionError("an invalid value must have an error")


def _problem(error: jsonschema_rs.ValidationError) -> Problem:
    import jsonschema_rs

    path = list(error.instance_path)
    kind = type(error.kind).__name__
    where = _shorten(format_path(path)) if path else "The answer"
    reason = violation_text(error.kind)
    message = (
        f"{where}: {_shorten(error.message)}" if reason is None else f"{where} {_shorten(reason)}"
    )
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Required):
        path.append(error.kind.property)
    return Problem(
        pointer=json_pointer(path), code=_CODES.get(kind, "unknown_value"), message=f"{message}."
    )


def format_path(path: list[str | int]) -> str:
    """Format a path of keys and indexes as people write it: ``servers[0].name``."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")


def _shorten(message: str) -> str:
    return message if len(message) <= _MAX_SHOWN else message[: _MAX_SHOWN - 1] + "…"


def json_pointer(path: list[str | int]) -> str:
    """Format a path of keys and indexes as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _value_problem(code: str, message: str) -> Problem:
    return Problem(pointer="", code=code, message=message)


def _reject_references(schema: JsonValue) -> None:
    """Reject references out of the schema, and ``$id``, which would change the base of references."""
    for node in subschemas.walk(schema):
        for keyword in subschemas.REFERENCES:
            target = node.get(keyword)
            if isinstance(target, str) and target != "#" and not target.startswith("#/"):
                raise InvalidSchemaError(
                    f'{keyword} "{target[:100]}" is not allowed: only "#" and "#/…" are followed'
                )
        if isinstance(node.get("$id"), str):
            raise InvalidSchemaError(
                "$id is not allowed: refer to parts of the schema with #/$defs/…"
            )


def _cache_key(schema: JsonValue) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
