"""Specs of JSON values as plain data: the language in which `rules.py` states Slack's rules.

Owns the spec nodes and the walk that compares a value with a node and yields `Problem`s with JSON
pointers. Knows nothing of Block Kit itself. Lengths are counted in UTF-16 code units, the strictest
of the plausible units, because Slack does not say which one its server counts.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]  # the platform's own shape: whatever a client sent, before it is judged


@dataclass(frozen=True, slots=True)
class Problem:
    """One error in a payload, with its JSON pointer."""

    pointer: str
    message: str
    judge: str = "rules"

    def __str__(self) -> str:
        return f"{self.message} [json-pointer:{self.pointer}]"


def units(text: str) -> int:
    """The length of a text in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(frozen=True, slots=True)
class Str:
    """A string with a length; `pattern` must match all of it."""

    most: int = 3000
    least: int = 1
    pattern: str | None = None
    one_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Int:
    """An integer within bounds."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Bool:
    """true or false."""


@dataclass(frozen=True, slots=True)
class Const:
    """Exactly this value."""

    value: str


@dataclass(frozen=True, slots=True)
class AnyJson:
    """Any value, because its rule is not documented."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text object of one of the allowed kinds."""

    most: int
    kinds: tuple[str, ...] = ("plain_text",)


@dataclass(frozen=True, slots=True)
class ListOf:
    """An array of one kind of thing."""

    item: "Spec"
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class OneOf:
    """An object whose `type` chooses among named specs."""

    choices: Mapping[str, "Obj"]
    allowed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Obj:
    """An object with known keys only; `surfaces` says where it may appear."""

    keys: Mapping[str, "Spec"]
    required: tuple[str, ...] = ()
    exactly_one: tuple[str, ...] = ()
    surfaces: frozenset[str] = field(
        default_factory=lambda: frozenset({"message", "modal", "home"})
    )


Spec = Str | Int | Bool | Const | AnyJson | Text | ListOf | OneOf | Obj

_TEXT_KEYS = {"plain_text": {"type", "text", "emoji"}, "mrkdwn": {"type", "text", "verbatim"}}


def compare(value: object, spec: Spec, pointer: str, surface: str) -> Iterator[Problem]:
    """Yield every difference between a value and its spec, in document order."""
    match spec:
        case Str():
            yield from _string(value, spec, pointer)
        case Text():
            yield from _text(value, spec, pointer)
        case ListOf():
            yield from _array(value, spec, pointer, surface)
        case OneOf():
            yield from _choice(value, spec, pointer, surface)
        case Obj():
            yield from _object(value, spec, pointer, surface)
        case Int() | Bool() | Const() | AnyJson():
            yield from _scalar(value, spec, pointer)


def _scalar(value: object, spec: Int | Bool | Const | AnyJson, pointer: str) -> Iterator[Problem]:
    match spec:
        case Int():
            if not isinstance(value, int) or isinstance(value, bool):
                yield Problem(pointer, "must be an integer")
            elif not spec.least <= value <= spec.most:
                yield Problem(pointer, f"must be between {spec.least} and {spec.most}")
        case Bool():
            if not isinstance(value, bool):
                yield Problem(pointer, "must be a boolean")
        case Const():
            if value != spec.value:
                yield Problem(pointer, f"must be {spec.value}")
        case AnyJson():
            return


def _string(value: object, spec: Str, pointer: str) -> Iterator[Problem]:
    if not isinstance(value, str):
        yield Problem(pointer, "must be a string")
        return
    if units(value) > spec.most:
        yield Problem(pointer, f"must be less than {spec.most + 1} characters")
    if units(value) < spec.least:
        yield Problem(pointer, f"must be more than {spec.least - 1} characters")
    if spec.pattern is not None and not re.fullmatch(spec.pattern, value):
        yield Problem(pointer, "must match the expected format")
    if spec.one_of and value not in spec.one_of:
        yield Problem(pointer, "must be one of " + ", ".join(spec.one_of))


def _text(value: object, spec: Text, pointer: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem(pointer, "must be an object")
        return
    kind = value.get("type")
    if kind not in spec.kinds:
        yield Problem(f"{pointer}/type", "must be one of " + ", ".join(spec.kinds))
        return
    for key in value:
        if key not in _TEXT_KEYS[kind]:
            yield Problem(pointer, f"invalid additional property: {key}")
    for flag in ("emoji", "verbatim"):
        if flag in value and not isinstance(value[flag], bool):
            yield Problem(f"{pointer}/{flag}", "must be a boolean")
    if "text" not in value:
        yield Problem(pointer, "missing required field: text")
    else:
        yield from _string(value["text"], Str(spec.most), f"{pointer}/text")


def _array(value: object, spec: ListOf, pointer: str, surface: str) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield Problem(pointer, "must be an array")
        return
    if len(value) > spec.most:
        yield Problem(pointer, f"no more than {spec.most} items allowed")
    if len(value) < spec.least:
        yield Problem(pointer, f"no less than {spec.least} items allowed")
    for index, item in enumerate(value):
        yield from compare(item, spec.item, f"{pointer}/{index}", surface)


def _choice(value: object, spec: OneOf, pointer: str, surface: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem(pointer, "must be an object")
        return
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in spec.choices:
        yield Problem(f"{pointer}/type", f"unsupported type: {kind}")
        return
    if kind not in spec.allowed:
        yield Problem(f"{pointer}/type", f"unsupported element here: {kind}")
    if surface not in spec.choices[kind].surfaces:
        yield Problem(f"{pointer}/type", f"{kind} is not allowed in a {surface}")
    yield from _object(value, spec.choices[kind], pointer, surface)


def _object(value: object, spec: Obj, pointer: str, surface: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem(pointer, "must be an object")
        return
    for key in spec.required:
        if key not in value:
            yield Problem(pointer, f"missing required field: {key}")
    if spec.exactly_one and sum(key in value for key in spec.exactly_one) != 1:
        yield Problem(pointer, "exactly one expected of: " + ", ".join(spec.exactly_one))
    for key, item in value.items():
        if key not in spec.keys:
            yield Problem(pointer, f"invalid additional property: {key}")
        else:
            yield from compare(item, spec.keys[key], f"{pointer}/{key}", surface)
