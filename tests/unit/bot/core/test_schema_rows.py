"""Arrays of flat objects as rows: what has rows, and what they send."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import JsonValue

from answerback.core.schema_field_values import can_hold, entries_from_value, value_from_entries
from answerback.core.schema_fields import Field, FieldKind, fields_from_schema

pytestmark = pytest.mark.rule("WEB-26")

ITEM: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "number"}, "on": {"type": "boolean"}, "t": {"type": "string"}},
    "required": ["n"],
}


def rows_of(**more: Any) -> Field:
    """Return the field of an array of objects."""
    found = fields_from_schema({"type": "array", "items": ITEM, **more}, rows=True)
    assert found is not None
    return found[0]


def sent(field: Field, *rows: dict[str, Any]) -> object:
    """Return the value of rows, or the pointers and messages of its problems."""
    found = value_from_entries((field,), {field.name: rows})
    return [(each.pointer, each.message) for each in found] if isinstance(found, tuple) else found


def test_only_a_surface_with_rows_gets_them() -> None:
    schema: JsonValue = {"type": "array", "items": ITEM}
    assert fields_from_schema(schema) is None
    assert rows_of().kind is FieldKind.ROWS
    assert [column.name for column in rows_of().columns] == ["n", "on", "t"]


@pytest.mark.parametrize(
    "items",
    [
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": ITEM}}},
        {"type": ["object", "null"], "properties": {"a": {"type": "string"}}},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {**ITEM, "minProperties": 1},
        True,
    ],
)
def test_what_is_no_flat_object_has_no_rows(items: JsonValue) -> None:
    assert fields_from_schema({"type": "array", "items": items}, rows=True) is None


def test_definitions_are_found_within_a_row() -> None:
    item: JsonValue = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}}
    schema: JsonValue = {
        "properties": {"rows": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
        "$defs": {"item": item, "a": {"type": "integer"}},
    }
    found = fields_from_schema(schema, rows=True)
    assert found is not None
    assert [column.kind for column in found[0].columns] == [FieldKind.INTEGER]


def test_values_have_their_types_and_empty_rows_are_left_out() -> None:
    rows = ({"n": "1.0", "on": False}, {"n": "", "t": ""}, {"n": "12345678901234567890", "t": "2"})
    expected = '[{"n": 1.0, "on": false}, {"n": 12345678901234567890, "t": "2"}]'
    assert json.dumps(sent(rows_of(), *rows)) == expected


def test_problems_point_into_the_answer() -> None:
    assert sent(rows_of(title="Sums"), {"n": ""}, {"n": "1"}, {"n": "", "t": "x"}) == [
        ("/1/n", "Sums 2: n is required: must be a number.")
    ]
    assert sent(rows_of(title="Sums", minItems=2), {"n": "1"}) == [
        ("", "Sums needs at least 2 rows.")
    ]
    assert sent(rows_of(title="Sums", maxItems=1), {"n": "1"}, {"n": "2"}) == [
        ("", "Sums takes at most 1 row.")
    ]


def test_removing_all_default_rows_is_an_answer() -> None:
    array: JsonValue = {"type": "array", "items": ITEM, "default": [{"n": 1}]}
    found = fields_from_schema({"properties": {"rows": array}}, rows=True)
    assert found is not None
    assert value_from_entries(found, {"rows": ()}) == {"rows": []}


@pytest.mark.parametrize(
    ("value", "is_held"),
    [
        ([{"n": 1}, {"n": 1.0, "on": True}], True),
        ([], True),
        ([{"n": 1, "more": 2}], False),
        ([{}], False),
        ([{"n": "1"}], False),
        ([{"n": None}], False),
        ([1], False),
        ("text", False),
    ],
)
def test_rows_hold_only_what_they_send_unchanged(value: JsonValue, is_held: bool) -> None:
    field = rows_of()
    assert can_hold(field, value) is is_held
    if is_held:
        entries = entries_from_value((field,), value, is_set=True)
        assert json.dumps(value_from_entries((field,), entries)) == json.dumps(value)
