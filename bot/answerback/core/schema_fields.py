"""Turn a flat JSON Schema into a list of input fields. Pure; for their entries see `schema_field_values`.

Every surface builds its native inputs from these. A schema is flat if it is a text, a number, a boolean, a choice, an
array of choices, or an object with such properties. Surfaces that show rows take arrays of flat objects, too. A schema
that fields cannot represent faithfully (nesting, conditions, combinations) has no fields and is answered as JSON.
Fields only narrow what can be entered: the whole value must still be checked against the schema afterwards.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from pydantic import JsonValue

from answerback.core.json_schema import schemas


class FieldKind(StrEnum):
    """The kind of input that a field needs."""

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
    """Any of ``choices``, without duplicates."""
    ROWS = "rows"
    """Any number of flat objects, each with a value for each of ``columns``."""


TEXT_KINDS: Final = frozenset(
    {FieldKind.TEXT, FieldKind.EMAIL, FieldKind.URI, FieldKind.DATE, FieldKind.DATE_TIME}
)
NUMBER_KINDS: Final = frozenset({FieldKind.INTEGER, FieldKind.NUMBER})


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice: its JSON value and the title that people see."""

    value: JsonValue
    title: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """One input. Lengths count characters (code points); a bound of None means unbounded."""

    name: str
    title: str
    """The title that people see, never blank: a field without one gets its number."""
    description: str | None
    required: bool
    kind: FieldKind
    nullable: bool = False
    """True if null is allowed; a required field left empty then yields null."""
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
    example: str | None = None
    """The schema's first example of a text."""
    columns: tuple[Field, ...] = ()
    is_whole: bool = False
    """True if this field is the whole value, since the schema does not describe an object."""

    @property
    def pointer(self) -> str:
        """The JSON pointer to this field within the value."""
        return "" if self.is_whole else schemas.json_pointer([self.name])


# --- from a schema to fields ---------------------------------------------------------------------

_UNREPRESENTABLE: Final = frozenset(
    {
        "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies",
        "dependentRequired", "patternProperties", "propertyNames", "unevaluatedProperties",
        "minProperties", "maxProperties", "prefixItems", "additionalItems", "contains",
        "minContains", "maxContains", "unevaluatedItems", "$dynamicRef", "$recursiveRef", "$ref",
        "extends", "disallow", "divisibleBy",
    }
)  # fmt: skip
"""Keywords that fields cannot represent. Unknown keywords mean nothing in a schema."""
_ANNOTATIONS: Final = frozenset(
    {"title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"}
)  # fmt: skip
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
_CHOICE_KEYWORDS: Final = frozenset({"enum", "const", "oneOf", "anyOf"})
"""Keywords that may list choices."""
_DEFAULT_TITLE: Final = "Answer"
"""The title of a field that is the whole value and has no title itself."""


class _NotFlatError(Exception):
    """The schema has a part that no field can represent."""


def fields_from_schema(schema: JsonValue, *, rows: bool = False) -> tuple[Field, ...] | None:
    """Return the fields of a usable schema in its order, or None if it is not flat and has to be answered as JSON.

    Args:
        rows: whether an array of flat objects is a field of rows.
    """
    if not isinstance(schema, dict):
        return None
    try:
        if schema.get("type", "object") != "object" or _CHOICE_KEYWORDS & schema.keys():
            return (_whole_field(schema, rows=rows),)
        return _object_fields(schema, schema, rows=rows)
    except _NotFlatError:
        return None


def _object_fields(
    root: Mapping[str, JsonValue], node: Mapping[str, JsonValue], *, rows: bool
) -> tuple[Field, ...]:
    properties, required = node.get("properties"), node.get("required", [])
    extra = node.get("additionalProperties", True)
    if not isinstance(properties, dict) or not properties or not isinstance(required, list):
        raise _NotFlatError
    if _UNREPRESENTABLE & node.keys():
        raise _NotFlatError
    if not (isinstance(extra, bool) or extra == {}) or not set(required) <= properties.keys():
        raise _NotFlatError
    needed = set(required)
    fields = [_field(root, n, p, n in needed, rows=rows) for n, p in properties.items()]
    numbered = enumerate(fields, 1)
    return tuple(f if f.title.strip() else replace(f, title=f"#{n}") for n, f in numbered)


def _whole_field(schema: Mapping[str, JsonValue], *, rows: bool) -> Field:
    field = _field(schema, "", dict(schema), True, rows=rows)
    return replace(field, title=field.title or _DEFAULT_TITLE, is_whole=True)


def _field(
    root: Mapping[str, JsonValue], name: str, node: JsonValue, required: bool, *, rows: bool
) -> Field:
    node, nullable = _resolve(root, node)
    types, null_type = _types(node)
    bounds: Mapping[str, JsonValue] = node
    choices = _choices(node, types)
    columns = _columns(root, node, types) if rows and choices is None else ()
    if columns:
        kind, choices = FieldKind.ROWS, ()
    elif choices is None:
        kind, choices = _plain_kind(root, node, types)
    else:
        kept = tuple(choice for choice in choices if choice.value is not None)
        null_type = len(kept) < len(choices)
        kind, choices, bounds = FieldKind.CHOICE, kept, {}
    if kind in {FieldKind.CHOICE, FieldKind.CHOICES} and not choices:
        raise _NotFlatError
    return Field(
        name=name,
        title=_text_if_not_blank(node.get("title")) or name,
        description=_text_if_not_blank(node.get("description")),
        required=required,
        kind=kind,
        nullable=nullable or null_type,
        choices=choices,
        columns=columns,
        default=node.get("default"),
        min_length=_integer(bounds.get("minLength")),
        max_length=_integer(bounds.get("maxLength")),
        pattern=_text(bounds.get("pattern")),
        minimum=_bound(bounds.get("minimum")),
        maximum=_bound(bounds.get("maximum")),
        exclusive_minimum=_bound(bounds.get("exclusiveMinimum")),
        exclusive_maximum=_bound(bounds.get("exclusiveMaximum")),
        min_items=_integer(bounds.get("minItems")) or 0,
        max_items=_integer(bounds.get("maxItems")),
        example=_example(bounds.get("examples")),
    )


def _plain_kind(
    root: Mapping[str, JsonValue], node: Mapping[str, JsonValue], types: list[str]
) -> tuple[FieldKind, tuple[Choice, ...]]:
    """Return the kind of a field of a single plain type, and the choices of a list."""
    if len(types) != 1 or types[0] not in _KINDS or _UNREPRESENTABLE & node.keys():
        raise _NotFlatError
    kind = _KINDS[types[0]]
    if kind is FieldKind.TEXT:
        return _FORMATS.get(str(node.get("format")), kind), ()
    if kind is not FieldKind.CHOICES:
        return kind, ()
    item, null_item = _resolve(root, node.get("items"))
    choices = _choices(item, _types(item)[0])
    if choices is None or null_item:
        raise _NotFlatError
    return kind, choices


def _columns(
    root: Mapping[str, JsonValue], node: Mapping[str, JsonValue], types: list[str]
) -> tuple[Field, ...]:
    """Return the fields of each row of an array of flat objects; empty for anything else."""
    if types != ["array"] or _UNREPRESENTABLE & node.keys():
        return ()
    item, null_item = _resolve(root, node.get("items"))
    if null_item or _CHOICE_KEYWORDS & item.keys() or _types(item) != (["object"], False):
        return ()
    return _object_fields(root, item, rows=False)


def _example(examples: JsonValue) -> str | None:
    """Return the first example that is not blank."""
    listed = examples if isinstance(examples, list) else []
    return next((each for each in listed if isinstance(each, str) and each.strip()), None)


def _resolve(
    root: Mapping[str, JsonValue], node: JsonValue, left: int = _MAX_REFERENCES
) -> tuple[dict[str, JsonValue], bool]:
    """Resolve a property's reference and remove null from its alternatives; also return whether null was one."""
    if not isinstance(node, dict) or left == 0:
        raise _NotFlatError
    notes = {word: node[word] for word in node.keys() & _ANNOTATIONS}
    if "$ref" in node:
        section, _, name = str(node["$ref"]).removeprefix("#/").rpartition("/")
        definitions = root.get(section)
        if section not in {"$defs", "definitions"} or node.keys() - _ANNOTATIONS != {"$ref"}:
            raise _NotFlatError
        target, nullable = _resolve(
            root, definitions.get(name) if isinstance(definitions, dict) else None, left - 1
        )
        return target | notes, nullable
    for word in ("anyOf", "oneOf"):
        parts = node.get(word)
        if isinstance(parts, list) and len(parts) == 2 and {"type": "null"} in parts:
            if node.keys() - _ANNOTATIONS != {word}:
                raise _NotFlatError
            other = parts[1] if parts[0] == {"type": "null"} else parts[0]
            target, _ = _resolve(root, other, left - 1)
            return target | notes, True
    return node, False


def _types(node: Mapping[str, JsonValue]) -> tuple[list[str], bool]:
    """Return the types that a property names other than null, and whether null is one of them."""
    named = node.get("type", [])
    types = [str(name) for name in (named if isinstance(named, list) else [named])]
    return [name for name in types if name != "null"], "null" in types


def _choices(node: Mapping[str, JsonValue], types: list[str]) -> tuple[Choice, ...] | None:
    """Return the choices that a property lists, or None if it lists none."""
    listed = sorted(_CHOICE_KEYWORDS & node.keys())
    if not listed:
        return None
    if len(listed) > 1 or _UNREPRESENTABLE & (node.keys() - {"oneOf", "anyOf"}):
        raise _NotFlatError
    values = node[listed[0]]
    if listed[0] == "const":
        values = [values]
    if not isinstance(values, list):
        raise _NotFlatError
    if listed[0] in {"oneOf", "anyOf"}:
        choices = [_alternative(part) for part in values]
    else:
        names = node.get("enumNames")
        titles = names if isinstance(names, list) and len(names) == len(values) else values
        choices = [
            Choice(value, _text_if_not_blank(title) or _title(value))
            for value, title in zip(values, titles, strict=True)
        ]
    nullable = "type" not in node or _types(node)[1]
    fitting = [c for c in choices if _has_type(c.value, types) or (c.value is None and nullable)]
    if len({json_value_key(choice.value) for choice in fitting}) < len(fitting):
        raise _NotFlatError
    counts = Counter(choice.title for choice in fitting)
    return tuple(_with_value(each) if counts[each.title] > 1 else each for each in fitting)


def _with_value(choice: Choice) -> Choice:
    """Return the choice with its value as JSON, which tells it from another of the same title: 1 and "1" look alike."""
    value = json.dumps(choice.value, ensure_ascii=False)
    is_titled = choice.title != _title(choice.value)
    return replace(choice, title=f"{choice.title} ({value})" if is_titled else value)


def json_value_key(value: JsonValue) -> str:
    """Return a key that is equal for equal JSON values only: true, 1 and "1" differ."""
    return f'"{value}' if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _alternative(part: JsonValue) -> Choice:
    """Parse one alternative, which must be a single value, perhaps with a title."""
    if not isinstance(part, dict) or part.keys() - _ANNOTATIONS - {"type"} not in (
        {"const"},
        {"enum"},
    ):
        raise _NotFlatError
    values = part["enum"] if "enum" in part else [part["const"]]
    if (
        not isinstance(values, list)
        or len(values) != 1
        or not _has_type(values[0], _types(part)[0])
    ):
        raise _NotFlatError
    title = _text_if_not_blank(part.get("title")) or _title(values[0])
    return Choice(values[0], title, _text_if_not_blank(part.get("description")))


def _has_type(value: JsonValue, types: list[str]) -> bool:
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
    return _text_if_not_blank(value) or json.dumps(value, ensure_ascii=False)


def _text_if_not_blank(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value else None


def _integer(value: JsonValue) -> int | None:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _bound(value: JsonValue) -> float | None:
    if isinstance(value, bool):  # in draft 4, a boolean marks the other bound as exclusive
        raise _NotFlatError
    return value if isinstance(value, (int, float)) else None
