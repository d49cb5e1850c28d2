"""JSON Schemas that a stranger wrote: refused at submit when unusable, checked in bounded time afterwards.

Owns the compiled validators (a bounded cache) and every bound that keeps a hostile schema from
holding the process: nothing is fetched, patterns run on a linear-time engine, and the number of
subschemas that checking one value can visit is counted before anything is checked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Final, NoReturn, cast
from urllib.parse import unquote

import jsonschema_rs
from pydantic import JsonValue

from bot.errors import Problem
from bot.form import MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH

MAX_VALUE_DEPTH: Final = 64
MAX_VISITS: Final = 20_000
"""Subschemas that may apply along one path through a value; a doubling ``allOf`` reaches it at 14 levels."""
_MAX_VIOLATIONS: Final = 20
_PATTERN_BYTES: Final = 16 * 1024 * 1024
"""What all patterns of a schema may take together once they are compiled; compiling them takes a tenth of a second."""

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_SAME_VALUE: Final = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)
"""Keywords whose subschemas apply to the very same value, not to a part of it."""
_BY_NAME: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
"""Keywords that hold subschemas by names, which are no keywords whatever they are called."""
_NO_SCHEMAS: Final = frozenset(
    {"$defs", "definitions", "enum", "const", "default", "examples", "required"}
)
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


def depth(value: object, limit: int) -> int:
    """How deep arrays and objects are nested in a JSON value, counted no further than ``limit + 1``."""
    layer: list[object] = [value]
    for level in range(limit + 1):
        layer = [child for node in layer for child in _children(node)]
        if not layer:
            return level
    return limit + 1


def is_text(text: str) -> bool:
    """Whether UTF-8 can carry a string (half a surrogate pair is not text)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def all_text(value: JsonValue) -> bool:
    """Whether every string in a JSON value, keys too, can be carried in UTF-8."""
    return is_text(json.dumps(value, ensure_ascii=False))


def require_usable(schema: JsonValue) -> None:
    """Refuses a schema that is not valid, would fetch anything, or is past the bounds.

    Raises:
        InvalidSchemaError: with the reason.
    """
    if not isinstance(schema, (dict, bool)):
        raise InvalidSchemaError("a JSON Schema is an object, true or false")
    if depth(schema, MAX_SCHEMA_DEPTH) > MAX_SCHEMA_DEPTH:
        raise InvalidSchemaError(f"it is nested deeper than {MAX_SCHEMA_DEPTH} levels")
    key = _key(schema)
    if not is_text(key):
        raise InvalidSchemaError("it holds half a surrogate pair, which is no text")
    if len(key.encode()) > MAX_SCHEMA_BYTES:
        raise InvalidSchemaError(f"it is longer than {MAX_SCHEMA_BYTES} bytes")
    _refuse_references(schema)
    try:
        _validator(key)
    except ValueError as error:
        raise InvalidSchemaError(_why_unusable(error)) from error
    if _visits(key, 1) > MAX_VISITS:
        raise InvalidSchemaError(
            "its alternatives multiply past what can be checked; refer to fewer of them"
        )


def _why_unusable(error: ValueError) -> str:
    reason = error.message if isinstance(error, jsonschema_rs.ValidationError) else str(error)
    if reason.endswith('is not a "regex"'):
        return (
            f"{reason}, has look-around or back-references, which no engine matches in linear time, "
            "or repeats too much (all patterns together may take 16 MiB compiled)"
        )
    return reason or "it cannot be compiled"


def violations(schema: JsonValue, value: JsonValue) -> tuple[Problem, ...]:
    """What keeps ``value`` from being valid against a usable schema; pointers are into the value."""
    nested = depth(value, MAX_VALUE_DEPTH)
    if nested > MAX_VALUE_DEPTH:
        return (_whole("too_long", f"The answer is nested deeper than {MAX_VALUE_DEPTH} levels."),)
    if not all_text(value):
        return (_whole("wrong_type", "The answer holds half a surrogate pair, which is no text."),)
    key = _key(schema)
    if _visits(key, nested) > MAX_VISITS:
        return (
            _whole(
                "too_long", "The answer is nested too deeply to be checked against this schema."
            ),
        )
    errors = islice(_validator(key).iter_errors(value), _MAX_VIOLATIONS)
    return tuple(_problem(error) for error in errors)


def _problem(error: jsonschema_rs.ValidationError) -> Problem:
    path = list(error.instance_path)
    kind = type(error.kind).__name__
    message = f"{place(path)}: {error.message}." if path else f"{error.message}."
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Required):
        path.append(error.kind.property)
    return Problem(pointer=pointer(path), code=_CODES.get(kind, "unknown_value"), message=message)


def place(path: list[str | int]) -> str:
    """A path of keys and indexes as people write it: ``servers[0].name``."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")


def pointer(path: list[str | int]) -> str:
    """A path of keys and indexes as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _whole(code: str, message: str) -> Problem:
    return Problem(pointer="", code=code, message=message)


def _children(node: object) -> list[object]:
    if isinstance(node, Mapping):
        return list(node.values())
    return node if isinstance(node, list) else []


def _refuse_references(schema: JsonValue) -> None:
    """Only pointers inside the schema itself are followed, and no base address may move them."""
    stack: list[object] = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            for word in _REFERENCES:
                target = node.get(word)
                if isinstance(target, str) and target != "#" and not target.startswith("#/"):
                    raise InvalidSchemaError(
                        f'{word} "{target[:100]}" is not allowed: only "#" and "#/…" are followed'
                    )
            if isinstance(node.get("$id"), str):
                raise InvalidSchemaError(
                    "$id is not allowed: refer to parts of the schema by #/$defs/…"
                )
        stack.extend(_children(node))


def _never_fetch(uri: str) -> NoReturn:
    raise ValueError(f"{uri} would have to be fetched, and nothing is fetched")


@lru_cache(maxsize=64)
def _validator(key: str) -> jsonschema_rs.Validator:
    schema = json.loads(key)
    room = _PATTERN_BYTES // max(1, _patterns(schema))
    return jsonschema_rs.validator_for(
        schema,
        validate_formats=True,
        ignore_unknown_formats=True,
        retriever=_never_fetch,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=room),
    )


def _patterns(schema: JsonValue) -> int:
    """How many patterns a schema has, at the most."""
    count, stack = 0, [cast("object", schema)]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            by_name = node.get("patternProperties")
            count += isinstance(node.get("pattern"), str)
            count += len(by_name) if isinstance(by_name, Mapping) else 0
        stack.extend(_children(node))
    return count


@lru_cache(maxsize=1024)
def _visits(key: str, nested: int) -> int:
    """How many subschemas checking a value of this depth can visit along one path, at the most."""
    try:
        return _Visits(json.loads(key)).count_from_root(nested)
    except RecursionError:
        return MAX_VISITS + 1


class _Visits:
    """Counts, without checking anything, what checking could visit; each subschema once a depth."""

    def __init__(self, root: JsonValue) -> None:
        self._root = root
        self._counted: dict[tuple[int, int], int] = {}

    def count_from_root(self, nested: int) -> int:
        """The count for a value that is nested so deep."""
        return self._count(self._root, nested)

    def _count(self, node: object, left: int) -> int:
        if not isinstance(node, (dict, list)):
            return 1
        place = (id(node), left)
        if place not in self._counted:
            self._counted[place] = 1  # a cycle that stays on the same value is followed once
            self._counted[place] = min(1 + sum(self._below(node, left)), MAX_VISITS + 1)
        return self._counted[place]

    def _below(self, node: dict[str, object] | list[object], left: int) -> Iterator[int]:
        if isinstance(node, list):
            yield from (self._count(item, left) for item in node)
            return
        for word, child in node.items():
            below = left if word in _SAME_VALUE else left - 1
            if word in _REFERENCES and isinstance(child, str):
                yield self._count(_resolve(self._root, child), left)
            elif word in _NO_SCHEMAS or below < 0:
                continue
            elif word in _BY_NAME and isinstance(child, dict):
                counts = [self._count(part, below) for part in child.values()]
                # Each property is a part of its own, and a path leads through one; the others may all apply.
                yield max(counts, default=0) if word == "properties" else sum(counts)
            else:
                yield self._count(child, below)


def _resolve(root: object, reference: str) -> object:
    node = root
    for part in unquote(reference[1:]).split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = node.get(part)
        elif isinstance(node, list) and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        else:
            return None
    return node


def _key(schema: JsonValue) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
