"""Schemas as the strict modes of model APIs accept them, which is less than JSON Schema.

Every object is closed and every property required, what may be left out is null, and no size is bounded:
https://platform.openai.com/docs/guides/structured-outputs#supported-schemas and
https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations. The dialects take
null for "not given", and refuse in words what is too long or too many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue, TypeAdapter

_DROPPED: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems", "default"})
_NULL: Final[dict[str, JsonValue]] = {"type": "null"}
_ANY: Final[list[JsonValue]] = [
    {"type": "string"},
    {"type": "number"},
    {"type": "boolean"},
    {"type": "array", "items": {"type": "string"}},
    _NULL,
]
"""What stands for any value: strict modes want to know its type."""
_OBJECT: Final = TypeAdapter(dict[str, JsonValue])


def to_strict_schema(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """A schema of a tool's arguments for strict modes."""
    made = {name: value for name, value in schema.items() if name not in _DROPPED}
    if "properties" in made:
        return {**made, **_closed(_OBJECT.validate_python(made["properties"]), made["required"])}
    if "items" in made:
        return {**made, "items": to_strict_schema(_OBJECT.validate_python(made["items"]))}
    return made if "type" in made else {**made, "anyOf": _ANY}


def _closed(properties: dict[str, JsonValue], required: JsonValue) -> dict[str, JsonValue]:
    """The properties, all of them required; one that is an object of any shape cannot be said, and is left out."""
    schemas = {name: _OBJECT.validate_python(schema) for name, schema in properties.items()}
    free = {name for name, schema in schemas.items() if _is_free(schema)}
    needed = required if isinstance(required, list) else []
    made: dict[str, JsonValue] = {}
    for name, schema in schemas.items():
        if name in free:
            continue
        found = to_strict_schema(schema)
        if isinstance(words := found.get("enum"), list):  # the answer type of what is left out
            found["enum"] = [word for word in words if word not in free]
        made[name] = found if name in needed or "anyOf" in found else _or_null(found)
    return {"properties": made, "required": [*made]}


def _is_free(schema: Mapping[str, JsonValue]) -> bool:
    kind = schema.get("type")
    return "object" in (kind if isinstance(kind, list) else [kind]) and "properties" not in schema


def _or_null(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    description = schema.pop("description", None)
    either: dict[str, JsonValue] = {"anyOf": [schema, _NULL]}
    return either if description is None else {"description": description, **either}
