"""A JSON Schema is said in words, for people who have to write what fits it."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from answerback.core.labels import Labels
from answerback.presentation.schema_words import describe_schema

LABELS = Labels()
pytestmark = pytest.mark.rule("WEB-24")


@pytest.mark.parametrize(
    ("schema", "lines"),
    [
        ({"type": "string"}, ["a text"]),
        ({"type": "string", "pattern": "^[a-z]+$"}, ["a text, only lower-case letters"]),
        (
            {"type": "string", "minLength": 2, "pattern": "a|b"},
            ["a text, at least 2 characters · matches the pattern a|b"],
        ),
        ({"type": "string", "format": "date"}, ["a date such as 2026-05-31"]),
        ({"type": "integer", "minimum": 1, "maximum": 5}, ["a whole number, 1 to 5"]),
        ({"type": ["number", "null"]}, ["a number or null"]),
        ({"enum": ["a", 1]}, ['one of "a", 1']),
        ({"const": None}, ["one of null"]),
        ({"enum": list(range(13))}, ["any value"]),
        (True, ["any value"]),
        ({"$ref": "#/$defs/a"}, ["any value"]),
        ({"type": "string", "title": " ", "description": "who\npays"}, ["a text (who pays)"]),
        (
            {
                "type": "object",
                "required": ["parts"],
                "properties": {
                    "parts": {
                        "type": "array",
                        "minItems": 1,
                        "items": {"type": "object", "properties": {"n": {"type": "boolean"}}},
                    },
                    "note": {"type": "string"},
                },
            },
            [
                "an object",
                "  parts: a list, at least 1",
                "    each of its items: an object",
                "      n (optional): true or false",
                "  note (optional): a text",
            ],
        ),
    ],
)
def test_a_schema_in_words(schema: JsonValue, lines: list[str]) -> None:
    assert describe_schema(schema, LABELS) == lines


def test_what_is_nested_deep_or_long_is_left_to_the_schema_itself() -> None:
    nested: JsonValue = {"type": "string"}
    for _ in range(9):
        nested = {"type": "array", "items": nested}
    assert len(describe_schema(nested, LABELS)) == 4
    wide: JsonValue = {"type": "object", "properties": {f"p{n}": True for n in range(99)}}
    assert describe_schema(wide, LABELS)[40:] == ["…"]
