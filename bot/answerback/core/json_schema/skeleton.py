"""The outline of a JSON value with blanks to fill in, for people who answer a JSON Schema by hand. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from answerback.core.json_schema.subschemas import reference_targets

_MAX_DEPTH: Final = 8
"""Levels that are filled in, counting references; a schema may contain itself."""
_MAX_PROPERTIES: Final = 20
"""Properties of one object that are filled in."""
_BLANKS: Final[dict[str, JsonValue]] = {
    "string": "",
    "integer": 0,
    "number": 0,
    "boolean": False,
}


def default_of(schema: JsonValue) -> tuple[JsonValue] | None:
    """Return the schema's own default in a tuple of one; None if it has none."""
    return (schema["default"],) if isinstance(schema, dict) and "default" in schema else None


def skeleton(schema: JsonValue) -> JsonValue:
    """Return the shape of the values that fit a schema; null where it says nothing about them.

    An object has its required properties (all, if none is), and a list has one item. A choice between values is left
    blank, so that nothing is chosen for the person.
    """
    return _shape(schema, schema, _MAX_DEPTH)


def _shape(root: JsonValue, node: object, left: int) -> JsonValue:
    if not isinstance(node, dict) or left == 0:
        return None
    for word in ("default", "const"):
        if word in node:
            known: JsonValue = node[word]
            return known
    for target in reference_targets(root, node):
        return _shape(root, target, left - 1)
    kind = _type(node)
    if kind == "object":
        return _object(root, node, left)
    if kind == "array":
        first = node.get("prefixItems") or node.get("items")
        items = first if isinstance(first, list) else [first] if first else []
        return [_shape(root, item, left - 1) for item in items[:_MAX_PROPERTIES]]
    if kind is None:
        parts = [part for word in ("anyOf", "oneOf", "allOf") for part in node.get(word) or ()]
        shapes = (_shape(root, part, left - 1) for part in parts)
        return next((shape for shape in shapes if shape is not None), None)
    return _BLANKS.get(kind)


def _object(root: JsonValue, node: Mapping[str, JsonValue], left: int) -> JsonValue:
    properties, required = node.get("properties"), node.get("required")
    known = properties if isinstance(properties, dict) else {}
    names = [str(name) for name in required] if isinstance(required, list) else []
    chosen = (names or list(known))[:_MAX_PROPERTIES]
    return {name: _shape(root, known.get(name), left - 1) for name in chosen}


def _type(node: Mapping[str, JsonValue]) -> str | None:
    """Return the first type that a schema names other than null, or the one that its other keywords are about."""
    named = node.get("type")
    types = named if isinstance(named, list) else [named]
    for kind in types:
        if isinstance(kind, str) and kind != "null":
            return kind
    if "properties" in node or "required" in node:
        return "object"
    return "array" if "items" in node or "prefixItems" in node else None
