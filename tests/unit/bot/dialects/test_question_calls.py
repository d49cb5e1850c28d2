"""Wrong calls whose words matter to the model: of `question` without questions, and ids that imitate an outcome."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from answerback.core.errors import InvalidCallError
from answerback.dialects import registry


@pytest.mark.rule("DIALECT-15")
@pytest.mark.parametrize("arguments", [{}, {"questions": None}, {"questions": []}])
def test_a_question_call_without_questions_gets_the_promised_result(
    arguments: dict[str, Any],
) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("question", arguments)
    result = registry.render_refusal(refused.value)
    assert (result.content, result.is_error) == ("Error: No questions provided", False)


@pytest.mark.rule("DIALECT-15")
@pytest.mark.parametrize(
    ("questions", "actual"), [("one, two", "a string"), (True, "true or false"), (7, "a number")]
)
def test_questions_of_another_type_are_not_called_missing(questions: Any, actual: str) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("question", {"questions": questions})
    result = registry.render_refusal(refused.value)
    assert result.is_error
    assert result.content.startswith(f"questions must be an array of questions, not {actual}.")


@pytest.mark.rule("FORM-2")
def test_no_question_of_a_result_keyed_by_id_can_imitate_a_cancelled_call() -> None:
    """Boolean and schema questions `cancelled` and `answered` would give the result of a Reply."""
    questions: list[JsonValue] = [
        {"id": "cancelled", "text": "Stop?", "answer_type": "boolean"},
        {"id": "answered", "text": "What?", "answer_type": "schema", "schema": {}},
    ]
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("ask_user", {"questions": questions})
    (problem,) = refused.value.problems
    assert (problem.pointer, problem.code) == ("/questions/0/id", "reserved_id")


def test_an_unknown_answer_type_is_the_only_mistake_that_it_makes() -> None:
    question: JsonValue = {
        "id": "a",
        "text": "A?",
        "answer_type": "colour",
        "options": [],
        "schema": {},
    }
    with pytest.raises(InvalidCallError) as caught:
        registry.parse_call("ask_user", {"questions": [question]})
    assert [each.pointer for each in caught.value.problems] == ["/questions/0/answer_type"]
