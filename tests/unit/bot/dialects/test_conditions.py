"""The message about a question's condition that can never hold."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from answerback.core.errors import InvalidCallError
from answerback.dialects import registry


@pytest.mark.parametrize(
    ("question", "equals", "text"),
    [
        ({"answer_type": "boolean"}, 1, "it yields true or false"),
        ({"answer_type": "text"}, 1, "it yields a string"),
        (
            {"answer_type": "select", "options": ["x", "y"]},
            "z",
            "it yields the value of one option",
        ),
        (
            {"answer_type": "multi_select", "options": ["x", "y"]},
            ["y", "x"],
            "it yields an array of option values in option order",
        ),
        (
            {"answer_type": "schema", "schema": {"type": "integer"}},
            "one",
            "its schema does not allow it",
        ),
    ],
)
def test_an_unsatisfiable_condition_is_reported_with_what_the_question_yields(
    question: dict[str, JsonValue], equals: JsonValue, text: str
) -> None:
    later: JsonValue = {
        "id": "b",
        "text": "b",
        "answer_type": "text",
        "when": {"question_id": "a", "equals": equals},
    }
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call(
            "ask_user", {"questions": [{"id": "a", "text": "a", **question}, later]}
        )
    (problem,) = refused.value.problems
    assert problem.code == "unsatisfiable_when"
    assert problem.message.endswith(f'"a" can never be; {text}, and is never skipped.')
