"""The schemas of a tool's arguments that every provider accepts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

NULL: Final = {"type": "null"}


def every_schema(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and all its subschemas."""
    yield schema
    below = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    for each in [*below, *([schema["items"]] if "items" in schema else [])]:
        yield from every_schema(each)


def not_portable(schema: Any) -> list[dict[str, Any]]:
    """Return the subschemas that a provider's API or converter refuses or misreads."""
    return [each for each in every_schema(schema) if not _is_portable(each)]


def _is_portable(schema: dict[str, Any]) -> bool:
    if "anyOf" in schema:  # Vertex AI refuses anything next to it
        # Converters for Gemini make a nullable type of null and one type, and leave null beside several without a type.
        is_plain_or_nullable = NULL not in schema["anyOf"] or len(schema["anyOf"]) == 2
        return schema.keys() == {"anyOf"} and is_plain_or_nullable
    if "anyOf" in schema.get(
        "items", {}
    ):  # langchain-google-genai drops alternatives of a list's items
        return False
    if "additionalProperties" in schema or not isinstance(schema.get("type"), str):
        return False
    return bool(schema["type"] != "object" or schema["properties"])
