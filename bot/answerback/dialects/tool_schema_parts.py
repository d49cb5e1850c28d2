"""Building blocks for the schemas of the tools' arguments.

They keep to what the SDKs and converters of all providers accept: each schema has a single ``type``, or only ``anyOf``
without ``null``, whose alternatives have the descriptions. No object has ``additionalProperties``, or no properties.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

TEXT: Final[dict[str, JsonValue]] = {"type": "string", "minLength": 1, "maxLength": 20_000}
LABEL: Final[dict[str, JsonValue]] = {"type": "string", "minLength": 1, "maxLength": 1_000}


def with_description(schema: dict[str, JsonValue], description: str) -> dict[str, JsonValue]:
    """Return a schema with a description for the model."""
    return {**schema, "description": description}


def object_schema(properties: dict[str, JsonValue], *required: str) -> dict[str, JsonValue]:
    """Return the schema of an object."""
    return {"type": "object", "properties": properties, "required": list(required)}


def array_schema(
    items: JsonValue, description: str, min_items: int = 1, max_items: int = 100
) -> dict[str, JsonValue]:
    """Return the schema of an array, with a description for the model."""
    return {
        "type": "array",
        "items": items,
        "minItems": min_items,
        "maxItems": max_items,
        "description": description,
    }


CONTEXT: Final = with_description(
    TEXT, "What the user needs to know to decide; shown with the question."
)
JSON_SCHEMA: Final[dict[str, JsonValue]] = {
    "type": "object",
    "properties": {"type": {"type": "string"}},
    "description": "Only for schema: the JSON Schema of the answer, with any of its keywords. A flat object becomes a "
    "form of input fields.",
}
"""An object with more properties than are listed."""
