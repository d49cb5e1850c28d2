"""Building blocks for the schemas of the tools' arguments."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

TEXT: Final[dict[str, JsonValue]] = {"type": "string", "minLength": 1, "maxLength": 20_000}
LABEL: Final[dict[str, JsonValue]] = {"type": "string", "minLength": 1, "maxLength": 1_000}


def with_description(schema: dict[str, JsonValue], description: str) -> dict[str, JsonValue]:
    """Return a schema with a description for the model."""
    return {**schema, "description": description}


def object_schema(properties: dict[str, JsonValue], *required: str) -> dict[str, JsonValue]:
    """Return the schema of an object without additional properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


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
    TEXT, "What the user needs to know to decide; shown above the question."
)
