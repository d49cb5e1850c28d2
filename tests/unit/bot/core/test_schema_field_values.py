"""Entries become values and values become entries, and every problem has a message and a location."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core.errors import Problem
from answerback.core.schema_field_values import (
    FieldEntry,
    entries_from_value,
    parse_json_answer,
    placeholder,
    value_from_entries,
)
from answerback.core.schema_fields import Field, fields_from_schema

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
VALUES = st.one_of(TEXTS, st.integers(-99, 99), st.booleans())


def fields(schema: dict[str, Any]) -> tuple[Field, ...]:
    """Return the fields of a flat schema."""
    found = fields_from_schema(schema)
    assert found is not None
    return found


def only(node: dict[str, Any], required: bool = True) -> tuple[Field, ...]:
    """Return the fields of an object whose only property is "x"."""
    return fields({"properties": {"x": node}, "required": ["x"] if required else []})


def entered(node: dict[str, Any], entry: FieldEntry, required: bool = True) -> JsonValue:
    """Return the result of an entry: the value of "x", or the message of the only problem."""
    found = value_from_entries(only(node, required), {"x": entry})
    if isinstance(found, tuple):
        assert [p.pointer for p in found] == ["/x"]
        return found[0].message
    assert isinstance(found, dict)
    return found["x"]


@pytest.mark.parametrize(
    ("node", "shown"),
    [
        ({"type": "string", "examples": [1, " ", "main", "dev"]}, "main"),
        ({"type": "string", "examples": "main"}, ""),
        ({"type": "string", "format": "date", "examples": ["1815-12-10"]}, "1815-12-10"),
        ({"type": "string", "format": "date"}, "2026-05-31"),
        ({"type": "integer", "minimum": 1, "examples": ["7"]}, "a whole number, at least 1"),
        ({"$ref": "#/$defs/branch"}, "main"),
    ],
)
def test_an_empty_input_shows_the_schemas_example(node: dict[str, Any], shown: str) -> None:
    defs = {"branch": {"type": "string", "examples": ["main"]}}
    [field] = fields({"properties": {"x": node}, "$defs": defs})
    assert placeholder(field) == shown


@st.composite
def properties(draw: st.DrawFn) -> tuple[dict[str, Any], st.SearchStrategy[Any]]:
    """Draw a flat property and a strategy for its valid values."""
    kind = draw(st.sampled_from(["text", "integer", "number", "boolean", "choice", "choices"]))
    if kind == "text":
        return {"type": "string", "maxLength": 12}, TEXTS
    if kind == "integer":
        low = draw(st.integers(-1000, 1000))
        return {"type": "integer", "minimum": low}, st.integers(low, 10**30)
    if kind == "number":
        return {"type": "number"}, st.floats(allow_nan=False, allow_infinity=False)
    if kind == "boolean":
        return {"type": "boolean"}, st.booleans()
    values = draw(st.lists(VALUES, min_size=1, max_size=6, unique_by=json.dumps))
    titled = draw(st.booleans())
    listed: dict[str, Any] = (
        {"oneOf": [{"const": v, "title": f"#{i}"} for i, v in enumerate(values)]}
        if titled
        else {"enum": values}
    )
    if kind == "choice":
        return listed, st.sampled_from(values)
    some = st.lists(st.sampled_from(range(len(values))), min_size=1, unique=True)
    chosen = some.map(lambda indexes: [values[i] for i in sorted(indexes)])
    return {"type": "array", "items": listed, "minItems": 1, "uniqueItems": True}, chosen


@st.composite
def filled_forms(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw a flat schema with a valid value."""
    made = draw(st.dictionaries(TEXTS, properties(), min_size=1, max_size=6))
    required = [name for name in made if draw(st.booleans())]
    schema = {
        "type": "object",
        "properties": {name: node for name, (node, _) in made.items()},
        "required": required,
    }
    given_names = [name for name in made if name in required or draw(st.booleans())]
    return schema, {name: draw(made[name][1]) for name in given_names}


@pytest.mark.rule("SURFACE-8")
@given(filled_forms())
def test_any_value_of_any_flat_schema_survives_a_round_trip(
    form: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    schema, value = form
    jsonschema.Draft202012Validator(schema).validate(value)
    found = fields(schema)
    entries = json.loads(json.dumps(entries_from_value(found, value)))
    assert json.dumps(value_from_entries(found, entries)) == json.dumps(
        {f.name: value[f.name] for f in found if f.name in value}
    )


@given(filled_forms(), st.data())
def test_any_entry_yields_a_valid_value_or_a_message_for_every_problem(
    form: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    schema, _ = form
    found = fields(schema)
    any_entry = st.one_of(
        st.none(), st.text(max_size=20), st.booleans(), st.lists(st.integers(-1, 7), max_size=4)
    )
    entries: dict[str, FieldEntry] = {f.name: data.draw(any_entry) for f in found}
    made = value_from_entries(found, entries)
    if isinstance(made, tuple):
        assert {p.pointer for p in made} <= {f.pointer for f in found}
        assert all(p.message.endswith(".") for p in made)
    else:
        jsonschema.Draft202012Validator(schema).validate(made)


@pytest.mark.parametrize(
    ("node", "entry", "text"),
    [
        ({"type": "integer", "minimum": 1}, "0", "x must be a whole number, at least 1."),
        ({"type": "integer"}, "1.5", "x must be a whole number."),
        ({"type": "integer"}, "1_000", "x must be a whole number."),
        ({"type": "integer"}, "9" * 5000, "x must be a whole number."),
        ({"type": "integer"}, "٣", "x must be a whole number."),
        (
            {"type": "integer", "minimum": 1},
            " ",
            "x is required: must be a whole number, at least 1.",
        ),
        (
            {"type": "number", "exclusiveMinimum": 0, "maximum": 2},
            "0",
            "x must be a number, more than 0 and at most 2.",
        ),
        ({"type": "number", "exclusiveMaximum": 2}, "2", "x must be a number, less than 2."),
        ({"type": "number"}, "1e999", "x must be a number."),
        ({"type": "number"}, "nan", "x must be a number."),
        ({"type": "string"}, "", "x is required."),
        ({"type": "string"}, None, "x is required."),
        (
            {"type": "string", "title": "Name", "minLength": 2},
            "a",
            "Name needs at least 2 characters.",
        ),
        (
            {"type": "string", "maxLength": 1},
            "abc",
            "x takes at most 1 character: shorten it by 2.",
        ),
        (
            {"type": "string", "pattern": "^[a-c]+$"},
            "d",
            "x must have this format: only a to c.",
        ),
        (
            {"type": "string", "pattern": "^(a|b)$", "description": "One of the two."},
            "d",
            "x must have this format: One of the two.",
        ),
        ({"type": "string", "pattern": "^(a|b)$"}, "d", "x must match the pattern ^(a|b)$."),
        ({"type": "string"}, "\ud800", "x contains half a character: delete it and type it again."),
        (
            {"type": "string", "format": "email"},
            "me",
            "x must be an email address, such as name@example.com.",
        ),
        (
            {"type": "string", "format": "uri"},
            "example",
            "x must be a web address, such as https://example.com.",
        ),
        (
            {"type": "string", "format": "date"},
            "2026-02-30",
            "x must be a date, such as 2026-05-31.",
        ),
        (
            {"type": "string", "format": "date-time"},
            "2026-02-03T10:00",
            "x must be a date and time with its zone, such as 2026-05-31T14:30:00Z.",
        ),
        ({"type": "boolean"}, None, "x needs a yes or a no."),
        ({"enum": ["a"]}, [], "x needs a choice."),
        ({"enum": ["a", "b"]}, [0, 1], "x takes only one choice."),
        ({"enum": ["a"]}, [1], "x must be one of the choices offered."),
        ({"enum": ["a"]}, [-1], "x must be one of the choices offered."),
        ({"enum": ["a"]}, "a", "x could not be read: enter it again."),
        (
            {"type": "array", "minItems": 1, "items": {"enum": ["a"]}},
            [],
            "x needs at least 1 choice.",
        ),
        (
            {"type": "array", "minItems": 2, "items": {"enum": ["a", "b"]}},
            [1],
            "x needs at least 2 choices.",
        ),
        (
            {"type": "array", "maxItems": 1, "items": {"enum": ["a", "b"]}},
            [0, 1],
            "x takes at most 1 choice.",
        ),
    ],
)
def test_a_problem_has_a_readable_message(
    node: dict[str, Any], entry: FieldEntry, text: str
) -> None:
    assert entered(node, entry) == text


@pytest.mark.parametrize(
    ("node", "entry", "value"),
    [
        ({"type": "integer"}, " 7 ", 7),
        ({"type": "integer"}, "−7", -7),
        ({"type": "integer"}, "7.0", 7),
        ({"type": "number"}, ".5", 0.5),
        ({"type": "string"}, "  ", "  "),
        ({"type": "string", "default": ""}, "", ""),
        ({"type": "string", "format": "email"}, " a@b.example ", "a@b.example"),
        ({"type": "string", "format": "date-time"}, "2026-02-03 10:00Z", "2026-02-03T10:00:00Z"),
        (
            {"type": "string", "format": "date-time"},
            "2026-02-03T10:00:00.25+01:00",
            "2026-02-03T10:00:00.25+01:00",
        ),
        ({"type": "boolean"}, False, False),
        ({"type": ["string", "null"]}, "", None),
        ({"type": ["integer", "null"]}, None, None),
        ({"enum": ["a", None]}, None, None),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, [], []),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, [1, 0, 1], ["a", "b"]),
    ],
)
def test_variant_spellings_of_values_are_understood(
    node: dict[str, Any], entry: FieldEntry, value: JsonValue
) -> None:
    found = entered(node, entry)
    assert json.dumps(found) == json.dumps(value)


def test_optional_fields_left_empty_are_absent() -> None:
    schema = {
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "boolean"},
            "c": {"enum": [1]},
            "d": {"type": "array", "items": {"enum": [1]}, "minItems": 1},
            "e": {"type": ["string", "null"], "default": None},
        }
    }
    assert value_from_entries(fields(schema), {"a": "", "b": None, "d": []}) == {}


def test_a_nullable_optional_field_whose_default_was_deleted_is_null() -> None:
    node = {"type": ["string", "null"], "default": "x"}
    assert value_from_entries(only(node, required=False), {"x": ""}) == {"x": None}


def test_all_problems_are_reported_at_once_in_order() -> None:
    schema = {
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "number"}},
        "required": ["a", "c"],
    }
    found = value_from_entries(fields(schema), {"a": "x", "b": "fine", "c": ""})
    assert isinstance(found, tuple)
    assert [(p.pointer, p.code) for p in found] == [("/a", "wrong_type"), ("/c", "required")]


def test_fields_start_from_their_defaults_without_a_value() -> None:
    schema = {
        "properties": {
            "a": {"type": "string", "default": "x"},
            "b": {"enum": [1, 2], "default": 2},
            "c": {"enum": [1, True], "default": True},
            "d": {"type": "array", "items": {"enum": ["a", "b"]}, "default": ["b", "z"]},
            "e": {"type": "boolean", "default": False},
            "f": {"type": "integer", "default": 4},
            "g": {"enum": ["a"], "default": "z"},
        }
    }
    expected = {"a": "x", "b": [1], "c": [1], "d": [1], "e": False, "f": "4", "g": None}
    assert entries_from_value(fields(schema), None) == expected


def test_fields_missing_from_a_given_value_start_empty() -> None:
    schema = {"properties": {"a": {"type": "string", "default": "x"}, "b": {"type": "boolean"}}}
    assert entries_from_value(fields(schema), {"b": "no boolean"}) == {"a": None, "b": None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "Type the answer as JSON."),
        ('{"a": 1,\n "b" 2}', "at line 2, column 6."),
        ("[NaN]", "This is not JSON: NaN is not a JSON value."),
        ("-Infinity", "This is not JSON: -Infinity is not a JSON value."),
        ("1e999", "the number 1e999… is larger than a double can hold."),
        ("9" * 5000, "… is larger than a double can hold."),
        ('[{"a": 1, "a": 2}]', 'the key "a" occurs twice in one object.'),
        ("[" * 100_000, "it is nested deeper than 64 levels."),
    ],
)
def test_unusable_json_is_rejected_with_a_message(text: str, expected: str) -> None:
    found = parse_json_answer(text)
    assert isinstance(found, Problem)
    assert found.message.endswith(expected)


@pytest.mark.parametrize("value", [None, True, "a", 1, 1.5, [1, {"a": []}], {"a": {"b": None}}])
def test_typed_json_becomes_the_value(value: JsonValue) -> None:
    assert parse_json_answer(f" {json.dumps(value)}\n") == value


@pytest.mark.parametrize(
    ("form", "text"), [("email", "an email address"), ("date", "a date, such as")]
)
def test_an_empty_required_field_with_a_format_reports_what_it_takes(form: str, text: str) -> None:
    result = entered({"type": "string", "format": form}, None)
    assert str(result).startswith(f"x is required: must be {text}")


@pytest.mark.parametrize(
    ("schema", "entry", "value"),
    [
        ({"type": "integer", "minimum": 1}, "3", 3),
        ({"type": "string"}, "three", "three"),
        ({"type": "boolean"}, False, False),
        ({"enum": ["a", 2]}, [1], 2),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, [0, 1], ["a", "b"]),
        ({"type": ["integer", "null"]}, None, None),
    ],
)
def test_a_whole_value_field_yields_the_value_itself(
    schema: dict[str, Any], entry: FieldEntry, value: JsonValue
) -> None:
    found = fields(schema)
    assert value_from_entries(found, {"": entry}) == value
    assert entries_from_value(found, value) == {"": entry}


def test_a_problem_with_a_whole_value_field_points_to_the_whole_value() -> None:
    problems = value_from_entries(fields({"type": "integer", "minimum": 1}), {"": "0"})
    assert isinstance(problems, tuple)
    assert [(p.pointer, p.message) for p in problems] == [
        ("", "Answer must be a whole number, at least 1.")
    ]
