"""Which schemas are flat, and which fields they have."""

from typing import Any

import pytest
from pydantic import JsonValue

from answerback.core.schema_fields import Choice, Field, FieldKind, fields_from_schema


def one(node: JsonValue, **root: JsonValue) -> Field | None:
    """Return the field of an object with this property only, or None if that is not flat."""
    found = fields_from_schema({"type": "object", "properties": {"x": node}, **root})
    return found[0] if found else None


@pytest.mark.rule("SURFACE-7")
@pytest.mark.parametrize(
    ("node", "kind"),
    [
        ({"type": "string"}, FieldKind.TEXT),
        ({"type": "string", "format": "email"}, FieldKind.EMAIL),
        ({"type": "string", "format": "uri"}, FieldKind.URI),
        ({"type": "string", "format": "date"}, FieldKind.DATE),
        ({"type": "string", "format": "date-time"}, FieldKind.DATE_TIME),
        ({"type": "string", "format": "uuid"}, FieldKind.TEXT),
        ({"type": "integer"}, FieldKind.INTEGER),
        ({"type": "number", "multipleOf": 0.5}, FieldKind.NUMBER),
        ({"type": "boolean"}, FieldKind.BOOLEAN),
        ({"type": "string", "enum": ["a"]}, FieldKind.CHOICE),
        ({"const": "a"}, FieldKind.CHOICE),
        ({"oneOf": [{"const": 1}, {"const": 2}]}, FieldKind.CHOICE),
        ({"type": "array", "items": {"enum": ["a"]}}, FieldKind.CHOICES),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}, FieldKind.CHOICES),
    ],
)
def test_a_property_becomes_a_field_of_its_kind(node: JsonValue, kind: FieldKind) -> None:
    field = one(node)
    assert field is not None
    assert field.kind is kind
    assert not field.nullable


@pytest.mark.parametrize(
    "node",
    [
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"oneOf": [{"type": "null"}, {"enum": ["a"]}]},
        {"enum": ["a", None]},
        {"anyOf": [{"const": "a"}, {"const": None}]},
        {"anyOf": [{"$ref": "#/$defs/K"}, {"type": "null"}], "default": None},
    ],
)
def test_a_nullable_property_is_a_field_that_may_be_left_empty(node: JsonValue) -> None:
    defs: JsonValue = {"K": {"type": "integer"}}
    field = one(node, **{"$defs": defs})
    assert field is not None
    assert field.nullable
    assert Choice(None, "null") not in field.choices


@pytest.mark.rule("SURFACE-7")
@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "null"},
        {"type": ["string", "integer"]},
        {"type": "array", "items": {"type": "string"}},
        {"type": "integer", "not": {"const": 3}},
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"x": {}}},
        {"type": "object", "properties": {"x": True}},
        {"type": "object", "properties": {"x": {"type": "object"}}},
        {"type": "object", "properties": {"x": {"type": "array"}}},
        {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "string"}}}},
        {"type": "object", "properties": {"x": {"type": ["string", "integer"]}}},
        {"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}, {"const": 1}]}}},
        {"type": "object", "properties": {"x": {"type": "string", "not": {"const": "a"}}}},
        {"type": "object", "properties": {"x": {"enum": [None]}}},
        {"type": "object", "properties": {"x": {"enum": "a"}}},
        {"type": "object", "properties": {"x": {"oneOf": [{"enum": ["a", "b"]}]}}},
        {
            "type": "object",
            "properties": {"x": {"type": "string", "oneOf": [{"const": 1, "type": "string"}]}},
        },
        {"type": "object", "properties": {"x": {"enum": ["a"], "const": "a"}}},
        {
            "type": "object",
            "properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}], "minLength": 1}},
        },
        {
            "type": "object",
            "properties": {"x": {"type": "array", "items": {"type": ["string", "null"]}}},
        },
        {"type": "object", "properties": {"x": {"type": "null"}}},
        {"type": "object", "properties": {"x": {"oneOf": [{"const": 1}, {"const": 1}]}}},
        {"type": "object", "properties": {"x": {"$ref": "#/$defs/Gone"}}},
        {"type": "object", "properties": {"x": {"$ref": "#"}}},
        {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["y"]},
        {"type": "object", "properties": {"x": {"type": "string"}}, "allOf": [{}]},
        {"type": "object", "properties": {"x": {"type": "string"}}, "if": {}, "then": {}},
        {"type": "object", "properties": {"x": {"type": "string"}}, "patternProperties": {"a": {}}},
        {"properties": {"x": {"type": "string"}}, "additionalProperties": {"type": "string"}},
        {"properties": {"x": {"type": "number", "minimum": 1, "exclusiveMinimum": True}}},
        {
            "properties": {"x": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}},
        },
    ],
)
def test_schemas_that_fields_cannot_represent_are_not_flat(schema: JsonValue) -> None:
    assert fields_from_schema(schema) is None


def test_titles_descriptions_and_bounds_are_kept() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "required": ["n"],
        "properties": {
            "n": {
                "type": "integer",
                "title": "N",
                "description": "How many",
                "minimum": 1,
                "exclusiveMaximum": 9,
                "default": 2,
            },
            "s": {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a"},
            "c": {
                "type": "array",
                "minItems": 1,
                "maxItems": 2,
                "items": {
                    "oneOf": [{"const": "a", "title": "A", "description": "first"}, {"const": "b"}]
                },
            },
            "e": {"enum": ["x", 2], "enumNames": ["Ex", "Two"]},
        },
    }
    assert fields_from_schema(schema) == (
        Field(
            "n",
            "N",
            "How many",
            True,
            FieldKind.INTEGER,
            minimum=1,
            exclusive_maximum=9,
            default=2,
        ),
        Field("s", "s", None, False, FieldKind.TEXT, min_length=1, max_length=5, pattern="^a"),
        Field(
            "c",
            "c",
            None,
            False,
            FieldKind.CHOICES,
            choices=(Choice("a", "A", "first"), Choice("b", "b")),
            min_items=1,
            max_items=2,
        ),
        Field(
            "e", "e", None, False, FieldKind.CHOICE, choices=(Choice("x", "Ex"), Choice(2, "Two"))
        ),
    )


def test_a_local_reference_is_followed_and_keywords_next_to_it_win() -> None:
    defs: JsonValue = {"K": {"type": "integer", "title": "Of the definition", "minimum": 3}}
    field = one({"$ref": "#/$defs/K", "title": "Here"}, **{"$defs": defs})
    assert field == Field("x", "Here", None, False, FieldKind.INTEGER, minimum=3)


def test_choices_that_the_type_excludes_are_not_offered() -> None:
    field = one({"type": "string", "enum": ["a", 1, True, None, ["a"]]})
    assert field is not None
    assert [choice.value for choice in field.choices] == ["a"]


def test_the_pointer_of_a_field_is_escaped() -> None:
    found = fields_from_schema({"properties": {"a/b~c": {"type": "string"}}})
    assert found is not None
    assert found[0].pointer == "/a~1b~0c"


@pytest.mark.parametrize("blank", ["", " ", "\u00a0\n"])
def test_a_field_or_choice_with_a_blank_title_gets_another(blank: str) -> None:
    properties: JsonValue = {
        "a": {"type": "string", "title": blank, "description": blank},
        blank: {"type": "string"},
        "b": {"enum": [blank, 1], "enumNames": [blank, blank], "title": "B"},
        "c": {"oneOf": [{"const": "x", "title": blank, "description": blank}]},
    }
    fields = fields_from_schema({"type": "object", "properties": properties}) or ()
    assert [field.title for field in fields] == ["a", "#2", "B", "c"]
    assert [field.name for field in fields] == ["a", blank, "b", "c"]
    assert not any(field.description for field in fields)
    assert fields[2].choices[1] == Choice(1, "1")
    assert fields[2].choices[0].title.startswith('"')
    assert fields[3].choices == (Choice("x", "x"),)


@pytest.mark.parametrize(
    ("schema", "kind", "title"),
    [
        ({"type": "number", "title": "Price"}, FieldKind.NUMBER, "Price"),
        ({"type": "integer", "minimum": 1}, FieldKind.INTEGER, "Answer"),
        ({"type": "string", "format": "date"}, FieldKind.DATE, "Answer"),
        ({"type": "boolean"}, FieldKind.BOOLEAN, "Answer"),
        ({"enum": ["a", "b"]}, FieldKind.CHOICE, "Answer"),
        ({"oneOf": [{"const": 1, "title": "one"}]}, FieldKind.CHOICE, "Answer"),
        ({"type": "array", "items": {"enum": ["a"]}}, FieldKind.CHOICES, "Answer"),
    ],
)
def test_a_schema_of_one_value_is_one_field(schema: JsonValue, kind: FieldKind, title: str) -> None:
    found = fields_from_schema(schema)
    assert found is not None
    (field,) = found
    assert (field.kind, field.title, field.pointer) == (kind, title, "")
    assert (field.is_whole, field.required) == (True, True)
