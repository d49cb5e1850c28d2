"""The texts for a person who answers by JSON: the shape to start from, and what is wrong in words."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.json_schema.schemas import violations
from answerback.core.json_schema.skeleton import skeleton
from answerback.core.schema_field_values import parse_json_answer

OBJECT: dict[str, Any] = {
    "type": "object",
    "required": ["name", "n"],
    "properties": {
        "name": {"type": ["null", "string"]},
        "n": {"type": "integer", "minimum": 1},
        "more": {"type": "boolean"},
    },
}


@pytest.mark.rule("SURFACE-7")
@pytest.mark.parametrize(
    ("schema", "shape"),
    [
        (OBJECT, {"name": "", "n": 0}),
        ({"properties": {"a": {"type": "boolean"}, "b": {}}}, {"a": False, "b": None}),
        ({"required": ["a"]}, {"a": None}),
        ({"type": "array", "items": OBJECT}, [{"name": "", "n": 0}]),
        ({"prefixItems": [{"type": "number"}, {"const": "x"}]}, [0, "x"]),
        ({"items": [{"type": "string"}]}, [""]),
        ({"type": "array"}, []),
        ({"items": True}, [None]),
        ({"type": "string", "enum": ["production", "staging"]}, ""),
        ({"default": {"a": 1}}, {"a": 1}),
        ({"$ref": "#/$defs/o", "$defs": {"o": OBJECT}}, {"name": "", "n": 0}),
        ({"$ref": "#/$defs/none"}, None),
        ({"anyOf": [{"type": "null"}, OBJECT]}, {"name": "", "n": 0}),
        ({"oneOf": [{"type": "string"}]}, ""),
        ({"type": "null"}, None),
        ({"type": "made-up"}, None),
        ({}, None),
        (True, None),
    ],
)
def test_the_shape_of_a_schema(schema: Any, shape: Any) -> None:
    assert skeleton(schema) == shape


def test_the_shape_of_a_schema_that_contains_itself_ends() -> None:
    tree: dict[str, Any] = {"type": "object", "required": ["left", "right"], "properties": {}}
    tree["properties"] = {name: {"$ref": "#"} for name in ("left", "right")}
    assert skeleton(tree) is not None
    wide = {"properties": {f"p{i}": {"type": "string"} for i in range(100)}}
    assert len(skeleton(wide)) == 20  # type: ignore[arg-type]


@pytest.mark.rule("SURFACE-7")
@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "string"}, 1, "The answer must be text."),
        ({"type": ["array", "null"]}, 1, "The answer must be null or a list."),
        ({"enum": ["a", 1, None]}, "b", 'The answer must be "a", 1 or null.'),
        ({"const": "a"}, "b", 'The answer must be "a".'),
        ({"items": {"required": ["a"]}}, [{}], '[0] has no "a", which is required.'),
        ({"minimum": 2}, 1, "The answer must be at least 2."),
        ({"maximum": 2}, 3, "The answer must be at most 2."),
        ({"exclusiveMinimum": 2}, 2, "The answer must be more than 2."),
        ({"exclusiveMaximum": 2}, 2, "The answer must be less than 2."),
        ({"multipleOf": 5}, 2, "The answer must be a multiple of 5."),
        ({"minLength": 2}, "a", "The answer must have at least 2 characters."),
        ({"maxLength": 1}, "ab", "The answer must have at most 1 character."),
        ({"minItems": 1}, [], "The answer must have at least 1 item."),
        ({"maxItems": 1}, [1, 2], "The answer must have at most 1 item."),
        ({"minProperties": 1}, {}, "The answer must have at least 1 field."),
        ({"maxProperties": 0}, {"a": 1}, "The answer must have at most 0 fields."),
        ({"uniqueItems": True}, [1, 1], "The answer must not have the same item twice."),
        ({"anyOf": [{"type": "string"}]}, 1, "The answer has none of the forms that are allowed."),
        ({"oneOf": [{"type": "string"}]}, 1, "The answer has none of the forms that are allowed."),
        (
            {"oneOf": [{}, {}]},
            1,
            "The answer has more than one of the forms of which it must have exactly one.",
        ),
        ({"pattern": "^a"}, "b", "The answer must match the pattern ^a."),
        ({"format": "date"}, "b", "The answer must have the format date."),
        ({"contains": {"const": 1}}, [2], "The answer lacks an item that it must contain."),
        ({"not": {"type": "string"}}, "a", "The answer is excluded."),
        ({"properties": {"a": False}}, {"a": 1}, "a is not allowed."),
        (
            {"properties": {"a": {}}, "additionalProperties": False},
            {"b": 1},
            'The answer may not have "b".',
        ),
        (
            {"properties": {"a": {}}, "unevaluatedProperties": False},
            {"b": 1},
            'The answer may not have "b".',
        ),
        (
            {"propertyNames": {"maxLength": 1}},
            {"ab": 1},
            'The answer: "ab" is longer than 1 character.',
        ),
    ],
)
def test_what_is_wrong_with_a_value_in_words(schema: Any, value: Any, text: str) -> None:
    assert [problem.message for problem in violations(schema, value)] == [text]


@pytest.mark.rule("SURFACE-7")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "a value is missing, at line 1, column 2."),
        ("{", "a name in double quotes is missing, at line 1, column 2."),
        ('{"a": 1,}', "nothing follows a comma, at line 1, column 8."),
        ("[[1, 2 ,\n ]]", "nothing follows a comma, at line 1, column 8."),
        ("[1,}", "a value is missing, at line 1, column 4."),
        ("[1 2]", "a comma is missing, at line 1, column 4."),
        ('{"a" 1}', "a colon is missing, at line 1, column 6."),
        ('["a', "a text has no closing quote, at line 1, column 2."),
        ("1 2", "something follows the end of the value, at line 1, column 3."),
    ],
)
def test_what_is_not_json_in_words(text: str, said: str) -> None:
    problem = parse_json_answer(text)
    assert getattr(problem, "message", None) == f"This is not JSON: {said}"
