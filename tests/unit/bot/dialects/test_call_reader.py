"""The cursor over a call's arguments never raises, and reports every problem in order."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from answerback.dialects.call_reader import ArgumentNode, ProblemCollector


def node(value: JsonValue) -> ArgumentNode:
    return ArgumentNode(value, ProblemCollector(value))


@pytest.mark.parametrize(
    ("value", "key"), [("text", "a"), (5, 0), ([1], "a"), ({"a": 1}, 0), (None, "a")]
)
def test_a_missing_child_is_null(value: JsonValue, key: str | int) -> None:
    below = node(value).at(key)
    assert (below.value, below.path) == (None, (key,))


@pytest.mark.parametrize(
    ("value", "code"), [(5, "wrong_type"), (["a"], "wrong_type"), ("c", "unknown_value")]
)
def test_an_unknown_choice_is_reported_with_the_known_ones(value: JsonValue, code: str) -> None:
    call = node({"mode": value})
    assert call.choice("mode", ("a", "b")) is None
    (problem,) = call.problems.found
    assert (problem.pointer, problem.code) == ("/mode", code)
    assert '"a", "b"' in problem.message


@pytest.mark.rule("ERROR-1")
def test_problems_are_listed_in_document_order_even_below_values_that_are_not_objects() -> None:
    call = node({"first": "text", "list": ["a", {"x": 1}]})
    for below in (("list", 1, "x"), ("list", 0), ("missing",), ("first", "part"), ("list", 7)):
        call.fail("required", "", *below)
    result = [problem.pointer for problem in call.problems.in_document_order()]
    assert result == ["/first/part", "/list/0", "/list/1/x", "/list/7", "/missing"]


def test_many_unknown_fields_are_listed_in_part_and_the_rest_are_counted() -> None:
    arguments: JsonValue = {"question": "Q?"} | {f"key{n}": n for n in range(20_000)}
    call = node(arguments)
    assert call.is_object({"question"})
    result = call.problems.in_document_order()
    assert [problem.pointer for problem in result] == ["", *[f"/key{n}" for n in range(100)]]
    assert result[0].message == "The call has 19900 more unknown fields."
