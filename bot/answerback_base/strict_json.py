"""Parse JSON strictly and within bounds, with errors that say where it is wrong; measure JSON values, and digest them.

The parser is stricter than Python's: no NaN or Infinity, no number that a double cannot hold, no duplicate
key in an object, no nesting that only an attacker would write. Lone surrogates and NUL are accepted:
the code that uses the text decides about them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, TypeAlias

if TYPE_CHECKING:
    from pydantic import JsonValue

MAX_BODY: Final = 256 * 1024
"""Maximum size of an agent's call, in bytes."""
MAX_DEPTH: Final = 64
"""Maximum depth of nested arrays and objects."""
_MAX_DIGITS: Final = 309
"""Digits of the largest number a double can hold; parsing longer integers takes quadratic time."""


class NotJsonError(ValueError):
    """A text is not JSON within our bounds; the message says why."""


def pretty_json(value: JsonValue) -> str:
    """Format a JSON value for people to read."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def parse(text: str, max_depth: int = MAX_DEPTH) -> JsonValue:
    """Parse JSON as defined by RFC 8259, within our bounds.

    Raises:
        NotJsonError: with the position of the error.
    """
    try:
        value: JsonValue = _DECODER.decode(text)
    except json.JSONDecodeError as found:
        error = _name_trailing_comma(found)
        where = f"line {error.lineno}, column {error.colno}"
        raise NotJsonError(f"{error.msg.lower()} at {where}") from error
    except RecursionError as error:
        raise _too_deep(max_depth) from error
    # No value is deeper than its text has brackets, and most have few.
    if text.count("[") + text.count("{") > max_depth and size(value, max_depth).depth > max_depth:
        raise _too_deep(max_depth)
    return value


def parse_bytes(body: bytes) -> JsonValue:
    """Parse JSON in UTF-8 as `parse` does.

    Raises:
        NotJsonError: with the position of the error.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise NotJsonError(f"byte {error.start} is not UTF-8") from error
    return parse(text)


def _name_trailing_comma(error: json.JSONDecodeError) -> json.JSONDecodeError:
    """Say of a comma before a closing bracket what Python 3.13 says; older versions say what they expect after it."""
    before = error.doc[: error.pos].rstrip(" \t\n\r")
    kind = _CLOSINGS.get((error.msg, error.doc[error.pos : error.pos + 1]))
    if kind is None or not before.endswith(","):
        return error
    message = f"Illegal trailing comma before end of {kind}"
    return json.JSONDecodeError(message, error.doc, len(before) - 1)


_CLOSINGS: Final = {
    ("Expecting value", "]"): "array",
    ("Expecting property name enclosed in double quotes", "}"): "object",
}
"""Each kind of container, by the error at its closing bracket and by the bracket."""


def _too_deep(max_depth: int) -> NotJsonError:
    return NotJsonError(f"it is nested deeper than {max_depth} levels")


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        duplicate = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # add() is for its effect
        raise NotJsonError(f"the key {json.dumps(duplicate)[:100]} occurs twice in one object")
    return members


class NegativeZero(int):
    """The whole number -0, which equals 0."""

    written: Final = "-0"


class RewrittenFloat(float):
    """A number that was written otherwise than we write it, such as 1.50, or with more digits than a double has."""

    def __init__(self, written: str) -> None:
        self.written: Final = written


Rewritten: TypeAlias = NegativeZero | RewrittenFloat
"""A number that equals others which were written otherwise. Validation by pydantic makes it a plain one."""
_REWRITTEN: Final = frozenset({NegativeZero, RewrittenFloat})


def read_integer(digits: str) -> int:
    """Parse an integer of any size, for `json.loads`; see `Rewritten`."""
    return NegativeZero() if digits == "-0" else int(digits)


def read_float(digits: str) -> float:
    """Parse a fraction, for `json.loads`; see `Rewritten`."""
    number = float(digits)
    return number if repr(number) == digits else RewrittenFloat(digits)


def load_with_numbers(text: str | bytes) -> JsonValue:
    """Parse JSON as `json.loads` does, but so that numbers can be formatted as they were written.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    value: JsonValue = json.loads(text, parse_int=read_integer, parse_float=read_float)
    return value


def has_rewritten_numbers(value: object) -> bool:
    """Return whether a parsed value has numbers that are written otherwise once it is formatted."""
    layer = [value]
    while layer:
        if not _REWRITTEN.isdisjoint(map(type, layer)):
            return True
        layer = _below(layer)
    return False


def dump_as_written(value: object, *, ensure_ascii: bool = True) -> str:
    """Format a JSON value with each number as it was written."""
    if isinstance(value, Rewritten):
        return value.written
    if isinstance(value, list | dict) and has_rewritten_numbers(value):
        return _dump_members(value, ensure_ascii=ensure_ascii)
    return json.dumps(value, ensure_ascii=ensure_ascii)


def _dump_members(value: list[object] | dict[str, object], *, ensure_ascii: bool) -> str:
    def dump(each: object) -> str:
        return dump_as_written(each, ensure_ascii=ensure_ascii)

    if isinstance(value, list):
        return f"[{', '.join(map(dump, value))}]"
    return f"{{{', '.join(f'{dump(key)}: {dump(each)}' for key, each in value.items())}}}"


def _integer(digits: str) -> int:
    if len(digits) >= _MAX_DIGITS:
        _float(digits)
    return read_integer(digits)


def _float(digits: str) -> float:
    number = read_float(digits)
    if math.isinf(number):
        raise _out_of_range(digits)
    return number


def _out_of_range(digits: str) -> NotJsonError:
    return NotJsonError(f"the number {digits[:40]}… is larger than a double can hold")


def _constant(name: str) -> NoReturn:
    raise NotJsonError(f"{name} is not a JSON value")


def members(text: str) -> dict[str, str]:
    """Return the members of an object as they are written, by key: parsing and printing them would change their bytes.

    Args:
        text: an object that `parse` accepts.
    """
    return {key: value for key, (_, value) in written_members(text).items()}


def written_members(text: str) -> dict[str, tuple[str, str]]:
    """Return the members of an object by key: each key and value as they are written."""
    found: dict[str, tuple[str, str]] = {}
    at = text.index("{")
    while text[at := _next(text, at + 1)] != "}":
        key, end = _DECODER.raw_decode(text, at)
        begin = _next(text, end)
        _, after = _DECODER.raw_decode(text, begin)
        found[key] = (text[at:end], text[begin:after])
        at = after - 1
    return found


def written_items(text: str) -> list[str]:
    """Return the items of an array as they are written."""
    found: list[str] = []
    at = text.index("[")
    while text[at := _next(text, at + 1)] != "]":
        _, end = _DECODER.raw_decode(text, at)
        found.append(text[at:end])
        at = end - 1
    return found


def _next(text: str, at: int) -> int:
    """Return where the next key, value or end of an object is."""
    while text[at] in " \t\r\n:,":
        at += 1
    return at


_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
"""The types of most values. To ask if a value is a `Mapping` takes several times as long."""
_BLANK_OR_OPENING: Final = frozenset(" \t\r\n[{")
_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
)


class Size(NamedTuple):
    """The size of a JSON value."""

    depth: int
    levels: tuple[int, ...]
    """The number of values at each level of nesting."""

    @property
    def nodes(self) -> int:
        """The total number of values."""
        return sum(self.levels)


def size(value: object, limit: int) -> Size:
    """Measure a JSON value, looking no deeper than ``limit + 1`` levels."""
    layer: list[object] = [value]
    levels: list[int] = []
    for level in range(limit + 1):
        levels.append(len(layer))
        layer = _below(layer)
        if not layer:
            return Size(level, tuple(levels))
    return Size(limit + 1, tuple(levels))


def nodes(value: object) -> Iterator[object]:
    """Yield every value in a JSON value, itself included, however deep it is nested."""
    layer = [value]
    while layer:
        yield from layer
        layer = _below(layer)


def _below(layer: Iterable[object]) -> list[object]:
    """Return the items and members of those values that are arrays and objects."""
    below: list[object] = []
    for node in layer:
        if type(node) in _SCALARS:
            continue
        if isinstance(node, list):
            below += node
        elif isinstance(node, (dict, Mapping)):  # a dict is recognised in a fraction of the time
            below += node.values()
    return below


def may_be_container(text: str) -> bool:
    """Return whether a text may be the JSON of an array or an object."""
    return text[:1] in _BLANK_OR_OPENING and text.lstrip().startswith(("[", "{"))


def is_encodable(text: str) -> bool:
    """Return whether a string can be encoded as UTF-8 (half a surrogate pair cannot)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_all_encodable(value: JsonValue) -> bool:
    """Return whether every string in a JSON value, including keys, can be encoded as UTF-8."""
    return is_encodable(json.dumps(value, ensure_ascii=False))


def digest_of(body: JsonValue) -> str:
    """Return a digest that is the same for equal JSON, whatever its formatting."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def json_equal(a: object, b: object) -> bool:
    """Compare JSON values by type: true, 1 and "true" differ, 1 and 1.0 are equal, arrays compare in order."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(json_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(json_equal(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b
