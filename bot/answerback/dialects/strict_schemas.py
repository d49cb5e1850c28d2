"""Convert schemas to the subset of JSON Schema that the strict modes of model APIs accept.

Every object is closed, every property is required, an optional property may be null, and there are no size limits:
https://platform.openai.com/docs/guides/structured-outputs#supported-schemas and
https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations. The dialects treat
null as missing, and report texts that are too long and arrays with too many items themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue, TypeAdapter

from answerback.dialects.tool_schema_parts import ANY_OBJECT, JSON_SCHEMA, NULL

_DROPPED: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems", "default"})
_OBJECTS: Final = TypeAdapter(list[dict[str, JsonValue]])
_OBJECT: Final = TypeAdapter(dict[str, JsonValue])


def to_strict_schema(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Convert the schema of a tool's arguments for strict modes."""
    strict = {name: value for name, value in schema.items() if name not in _DROPPED}
    if "properties" in strict:
        return {
            **strict,
            **_closed(_OBJECT.validate_python(strict["properties"]), strict["required"]),
            "additionalProperties": False,
        }
    if "items" in strict:
        return {**strict, "items": to_strict_schema(_OBJECT.validate_python(strict["items"]))}
    if "anyOf" in strict:
        alternatives = [part for each in _alternatives(strict) for part in _alternatives(each)]
        return {
            **strict,
            "anyOf": [*(each for each in alternatives if each not in (ANY_OBJECT, NULL)), NULL],
        }
    return strict


def _alternatives(schema: dict[str, JsonValue]) -> list[dict[str, JsonValue]]:
    """Return the alternatives of a schema, or the schema itself if it has none."""
    return _OBJECTS.validate_python(schema.get("anyOf", [schema]))


def _closed(properties: dict[str, JsonValue], required: JsonValue) -> dict[str, JsonValue]:
    """Return the properties, all required, without free-form objects, which strict modes cannot express."""
    schemas = {name: _OBJECT.validate_python(schema) for name, schema in properties.items()}
    free_form = {name for name, schema in schemas.items() if schema == JSON_SCHEMA}
    needed = required if isinstance(required, list) else []
    strict: dict[str, JsonValue] = {}
    for name, schema in schemas.items():
        if name in free_form:
            continue
        converted = to_strict_schema(schema)
        if isinstance(values := converted.get("enum"), list):  # also drop the answer type "schema"
            converted["enum"] = [value for value in values if value not in free_form]
        optional = name not in needed and "anyOf" not in converted
        strict[name] = _or_null(converted) if optional else converted
    return {"properties": strict, "required": [*strict]}


def _or_null(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    description = schema.pop("description", None)
    either: dict[str, JsonValue] = {"anyOf": [schema, NULL]}
    return either if description is None else {"description": description, **either}
