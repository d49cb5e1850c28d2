"""A flat JSON Schema as a list of input fields. Pure; `answerback.core.schema_field_values` has what people enter.

Every surface makes its native forms of these. "Flat" is a text, a number, a boolean, a choice, an
array of choices, or an object whose properties are such; whatever cannot be put faithfully as such
fields (nesting, conditions, combinations) has none, and is entered as JSON instead. A form only narrows
what can be entered: the whole value is still to be checked against the schema afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from pydantic import JsonValue

from answerback.core.json_schema import schemas


class FieldKind(StrEnum):
    """What kind of input a field needs."""

    TEXT = "text"
    EMAIL = "email"
    URI = "uri"
    DATE = "date"
    DATE_TIME = "date_time"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    """One of ``choices``; its entry is a list of one index."""
    CHOICES = "choices"
    """Any of ``choices``, none twice."""


TEXT_KINDS: Final = frozenset(
    {FieldKind.TEXT, FieldKind.EMAIL, FieldKind.URI, FieldKind.DATE, FieldKind.DATE_TIME}
)
NUMBER_KINDS: Final = frozenset({FieldKind.INTEGER, FieldKind.NUMBER})


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to choose: the JSON value it stands for, and what people read."""

    value: JsonValue
    title: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """One input. Lengths count characters (code points); None in a bound: unbounded."""

    name: str
    title: str
    """What people read, never blank: a field with no words has its number."""
    description: str | None
    required: bool
    kind: FieldKind
    nullable: bool = False
    """Whether null is a value: what a required field that is left empty then yields."""
    choices: tuple[Choice, ...] = ()
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: float | None = None
    exclusive_maximum: float | None = None
    min_items: int = 0
    max_items: int | None = None
    default: JsonValue = None
    has_default: bool = False
    example: str | None = None
    """A text that the schema gives as an example of this one."""
    is_whole: bool = False
    """Whether this field's value is the whole value: the schema is not of an object."""

    @property
    def pointer(self) -> str:
        """The JSON pointer of this field in the value."""
        return "" if self.is_whole else schemas.json_pointer([self.name])


# --- from a schema to fields ---------------------------------------------------------------------

_SHAPING: Final = frozenset(
    {
        "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies",
        "dependentRequired", "patternProperties", "propertyNames", "unevaluatedProperties",
        "minProperties", "maxProperties", "prefixItems", "additionalItems", "contains",
        "minContains", "maxContains", "unevaluatedItems", "$dynamicRef", "$recursiveRef", "$ref",
        "extends", "disallow", "divisibleBy",
    }
)  # fmt: skip
"""Keywords that make more of a value than a field can show. Unknown words mean nothing to a schema."""
_ANNOTATIONS: Final = frozenset(
    {
        "title",
        "description",
        "default",
        "examples",
        "$comment",
        "deprecated",
        "readOnly",
        "writeOnly",
    }
)
_KINDS: Final = {
    "string": FieldKind.TEXT,
    "integer": FieldKind.INTEGER,
    "number": FieldKind.NUMBER,
    "boolean": FieldKind.BOOLEAN,
    "array": FieldKind.CHOICES,
}
_FORMATS: Final = {
    "email": FieldKind.EMAIL,
    "uri": FieldKind.URI,
    "date": FieldKind.DATE,
    "date-time": FieldKind.DATE_TIME,
}
_MAX_REFERENCES: Final = 8
_CHOOSING: Final = frozenset({"enum", "const", "oneOf", "anyOf"})
"""Keywords that may list what can be chosen."""
_WHOLE: Final = "Answer"
"""The title of a field that is the whole value and has none."""


class _NotFlatError(Exception):
    """The schema has a part that no field can stand for."""


def fields_from_schema(schema: JsonValue) -> tuple[Field, ...] | None:
    """The fields of a usable schema, in its order; None where it is not flat: it is entered as JSON."""
    if not isinstance(schema, dict):
        return None
    if schema.get("type", "object") != "object" or _CHOOSING & schema.keys():
        return _whole_field(schema)
    properties, required = schema.get("properties"), schema.get("required", [])
    extra = schema.get("additionalProperties", True)
    if not isinstance(properties, dict) or not properties or not isinstance(required, list):
        return None
    if _SHAPING & schema.keys():
        return None
    if not (isinstance(extra, bool) or extra == {}) or not set(required) <= properties.keys():
        return None
    try:
        needed = set(required)
        fields = [_field(schema, n, p, n in needed) for n, p in properties.items()]
    except _NotFlatError:
        return None
    numbered = enumerate(fields, 1)
    return tuple(f if f.title.strip() else replace(f, title=f"#{n}") for n, f in numbered)


def _whole_field(schema: Mapping[str, JsonValue]) -> tuple[Field] | None:
    try:
        field = _field(schema, "", dict(schema), True)
    except _NotFlatError:
        return None
    return (replace(field, title=field.title or _WHOLE, is_whole=True),)


def _field(root: Mapping[str, JsonValue], name: str, node: JsonValue, required: bool) -> Field:
    node, nullable = _resolved(root, node)
    made = Field(
        name=name,
        title=_words(node.get("title")) or name,
        description=_words(node.get("description")),
        required=required,
        kind=FieldKind.TEXT,
        default=node.get("default"),
        has_default="default" in node,
    )
    types, null_type = _types(node)
    choices = _choices(node, types)
    if choices is not None:
        kept = tuple(choice for choice in choices if choice.value is not None)
        null_type = len(kept) < len(choices)
        made = replace(made, kind=FieldKind.CHOICE, choices=kept)
    else:
        made = _bounded(root, made, node, types)
    if made.kind in {FieldKind.CHOICE, FieldKind.CHOICES} and not made.choices:
        raise _NotFlatError
    return replace(made, nullable=nullable or null_type)


def _bounded(
    root: Mapping[str, JsonValue], made: Field, node: Mapping[str, JsonValue], types: list[str]
) -> Field:
    """A field of one plain type with its bounds."""
    if len(types) != 1 or types[0] not in _KINDS or _SHAPING & node.keys():
        raise _NotFlatError
    kind = _KINDS[types[0]]
    if kind is FieldKind.TEXT:
        kind = _FORMATS.get(str(node.get("format")), FieldKind.TEXT)
    elif kind is FieldKind.CHOICES:
        item, null_item = _resolved(root, node.get("items"))
        choices = _choices(item, _types(item)[0])
        if choices is None or null_item:
            raise _NotFlatError
        made = replace(made, choices=choices)
    return replace(
        made,
        kind=kind,
        min_length=_whole(node.get("minLength")),
        max_length=_whole(node.get("maxLength")),
        pattern=_text(node.get("pattern")),
        minimum=_bound(node.get("minimum")),
        maximum=_bound(node.get("maximum")),
        exclusive_minimum=_bound(node.get("exclusiveMinimum")),
        exclusive_maximum=_bound(node.get("exclusiveMaximum")),
        min_items=_whole(node.get("minItems")) or 0,
        max_items=_whole(node.get("maxItems")),
        example=_example(node.get("examples")),
    )


def _example(examples: JsonValue) -> str | None:
    """The first example that shows anything."""
    listed = examples if isinstance(examples, list) else []
    return next((each for each in listed if isinstance(each, str) and each.strip()), None)


def _resolved(
    root: Mapping[str, JsonValue], node: JsonValue, left: int = _MAX_REFERENCES
) -> tuple[dict[str, JsonValue], bool]:
    """A property without its reference and without the null among its alternatives; whether there was one."""
    if not isinstance(node, dict) or left == 0:
        raise _NotFlatError
    notes = {word: node[word] for word in node.keys() & _ANNOTATIONS}
    if "$ref" in node:
        home, _, name = str(node["$ref"]).removeprefix("#/").rpartition("/")
        shelf = root.get(home)
        if home not in {"$defs", "definitions"} or node.keys() - _ANNOTATIONS != {"$ref"}:
            raise _NotFlatError
        target, nullable = _resolved(
            root, shelf.get(name) if isinstance(shelf, dict) else None, left - 1
        )
        return target | notes, nullable
    for word in ("anyOf", "oneOf"):
        parts = node.get(word)
        if isinstance(parts, list) and len(parts) == 2 and {"type": "null"} in parts:
            if node.keys() - _ANNOTATIONS != {word}:
                raise _NotFlatError
            other = parts[1] if parts[0] == {"type": "null"} else parts[0]
            target, _ = _resolved(root, other, left - 1)
            return target | notes, True
    return node, False


def _types(node: Mapping[str, JsonValue]) -> tuple[list[str], bool]:
    """The types a property names without null, and whether null is one."""
    named = node.get("type", [])
    types = [str(name) for name in (named if isinstance(named, list) else [named])]
    return [name for name in types if name != "null"], "null" in types


def _choices(node: Mapping[str, JsonValue], types: list[str]) -> tuple[Choice, ...] | None:
    """What can be chosen, where the property lists it; None where it does not."""
    listed = sorted(_CHOOSING & node.keys())
    if not listed:
        return None
    if len(listed) > 1 or _SHAPING & (node.keys() - {"oneOf", "anyOf"}):
        raise _NotFlatError
    found = node[listed[0]]
    if listed[0] == "const":
        found = [found]
    if not isinstance(found, list):
        raise _NotFlatError
    if listed[0] in {"oneOf", "anyOf"}:
        choices = [_alternative(part) for part in found]
    else:
        names = node.get("enumNames")
        titles = names if isinstance(names, list) and len(names) == len(found) else found
        choices = [
            Choice(value, _words(title) or _title(value))
            for value, title in zip(found, titles, strict=True)
        ]
    nullable = "type" not in node or _types(node)[1]
    fitting = [c for c in choices if _is_a(c.value, types) or (c.value is None and nullable)]
    if len({json_value_key(choice.value) for choice in fitting}) < len(fitting):
        raise _NotFlatError
    return tuple(fitting)


def json_value_key(value: JsonValue) -> str:
    """The same text for the same JSON value: true is not 1, and "1" neither."""
    return f'"{value}' if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _alternative(part: JsonValue) -> Choice:
    """One of several alternatives, which has to be a single value with perhaps a title."""
    if not isinstance(part, dict) or part.keys() - _ANNOTATIONS - {"type"} not in (
        {"const"},
        {"enum"},
    ):
        raise _NotFlatError
    values = part["enum"] if "enum" in part else [part["const"]]
    if not isinstance(values, list) or len(values) != 1 or not _is_a(values[0], _types(part)[0]):
        raise _NotFlatError
    title = _words(part.get("title")) or _title(values[0])
    return Choice(values[0], title, _words(part.get("description")))


def _is_a(value: JsonValue, types: list[str]) -> bool:
    if not types:
        return True
    if isinstance(value, bool):
        return "boolean" in types
    if isinstance(value, (int, float)):
        return "number" in types or ("integer" in types and value == int(value))
    if isinstance(value, str):
        return "string" in types
    return ("array" if isinstance(value, list) else "object") in types and value is not None


def _title(value: JsonValue) -> str:
    return _words(value) or json.dumps(value, ensure_ascii=False)


def _words(value: JsonValue) -> str | None:
    """What people can read of a text that may be blank."""
    return value if isinstance(value, str) and value.strip() else None


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: JsonValue) -> int | None:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _bound(value: JsonValue) -> float | None:
    if isinstance(value, bool):  # draft 4 said so that the neighbour is exclusive
        raise _NotFlatError
    return value if isinstance(value, (int, float)) else None
