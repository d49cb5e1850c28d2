"""Edits of JSON texts: what was not changed keeps its bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerback_base.json_edits import Change, changes, is_same, merge

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@pytest.mark.rule("EDIT-4")
@pytest.mark.parametrize(
    ("before", "after", "merged"),
    [
        ('{"a":1.50}', '{"a": 1.5}', '{"a":1.50}'),
        ('{ "a" : 1e2 , "b":2}', '{"b": 3, "a": 100}', '{"b": 3, "a": 1e2}'),
        ('{"a": 9007199254740993}', '{"a": 9007199254740992}', '{"a": 9007199254740992}'),
        ('{"a": 0.1}', '{"a": 0.1000000000000000055511151231257827}', None),
        ('{"a": "caf\\u00e9", "b": 1}', '{"a": "café", "b": 2}', '{"a": "caf\\u00e9", "b": 2}'),
        ('{"\\u0061": [1.0, 2.0]}', '{"a": [1, 3, 4]}', '{"\\u0061": [1.0, 3, 4]}'),
        ('{"a": [1.0, 2.0]}', '{"a": [1]}', '{"a": [1.0]}'),
        ('{"a": {"b": 1.0, "c": 2}}', '{"a": {"b": 1, "d": 0}}', '{"a": {"b": 1.0, "d": 0}}'),
        ('{"a": true}', '{"a": 1}', '{"a": 1}'),
        ('{"a": null}', "{}", "{}"),
        ('{"a": -0}', '{"a": 0}', '{"a": -0}'),
    ],
)
def test_what_was_not_changed_keeps_its_bytes(before: str, after: str, merged: str | None) -> None:
    assert merge(before, after) == (after if merged is None else merged)


@pytest.mark.rule("EDIT-4")
@given(before=JSON, after=JSON)
def test_a_merged_text_says_what_the_edited_one_says(before: object, after: object) -> None:
    old, new = json.dumps(before), json.dumps(after)
    merged = merge(old, new)
    assert is_same(merged, new)
    assert merge(old, merged) == merged
    assert bool([*changes(old, new)]) != is_same(old, new)


def test_changes_are_named_down_to_the_members_of_objects() -> None:
    before, after = '{"a": {"b": 1, "c": 2}, "d": [1]}', '{"a": {"b": 3}, "d": [1, 2], "e": {}}'
    assert [*changes(before, after)] == [
        Change(("a", "b"), "1", "3"),
        Change(("a", "c"), "2", None),
        Change(("d",), "[1]", "[1, 2]"),
        Change(("e",), None, "{}"),
    ]


@pytest.mark.parametrize(
    "number", ["0e99999999999999999999", f"1e-{'9' * 5_000}"], ids=["zero", "tiny"]
)
def test_a_number_that_no_decimal_can_hold_is_kept_as_it_is_written(number: str) -> None:
    assert merge(f'{{"a": {number}, "b": 1}}', f'{{"a": {number}, "b": 2}}') == (
        f'{{"a": {number}, "b": 2}}'
    )
    assert not is_same(number, "1")
