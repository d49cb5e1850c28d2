"""What the schemas of the tools' arguments are put together from."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

TEXT: Final[dict[str, JsonValue]] = {"type": "string", "minLength": 1, "maxLength": 20_000}
LABEL: Final[dict[str, JsonValue]] = {"type": "string", "minLength": 1, "maxLength": 1_000}


def said(schema: dict[str, JsonValue], description: str) -> dict[str, JsonValue]:
    """A schema, and what it says to the model."""
    return {**schema, "description": description}


def an_object(properties: dict[str, JsonValue], *required: str) -> dict[str, JsonValue]:
    """A closed object."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def an_array(
    items: JsonValue, description: str, least: int = 1, most: int = 100
) -> dict[str, JsonValue]:
    """An array, and what it says to the model."""
    return {
        "type": "array",
        "items": items,
        "minItems": least,
        "maxItems": most,
        "description": description,
    }


CONTEXT: Final = said(TEXT, "What the user needs to know to decide; shown above the question.")
