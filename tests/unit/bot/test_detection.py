"""Which dialect a call is read as, and what becomes of fields that it does not have."""

from __future__ import annotations

from typing import Any

import pytest

from bot.dialects import registry
from bot.errors import InvalidCallError
from tests.unit.bot.dialect_parts import CALLS


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"answer_type": "select", "options": ["a"]}, [("/question", "required")]),
        ({"context": "c"}, [("/question", "required")]),
        ({"default": "d"}, [("/question", "required")]),
        ({"options": ["a"]}, [("/options", "options_forbidden"), ("/question", "required")]),
        ({"question": None, "answer_type": "text", "questions": None}, [("/question", "required")]),
        ({"question": "Q?", "questions": None}, []),
        ({"question": "Q?", "answer_type": None, "questions": None, "when": None}, []),
    ],
)
def test_a_field_of_a_single_question_at_the_top_means_a_single_question(
    arguments: dict[str, Any], wrong: list[tuple[str, str]]
) -> None:
    assert registry.dialect_of("ask_user", arguments) == "single"
    if not wrong:
        registry.parse_call("ask_user", arguments)
        return
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("ask_user", arguments)
    assert [(p.pointer, p.code) for p in refused.value.problems] == wrong


def test_a_single_questions_fields_beside_questions_are_null_or_mistakes() -> None:
    questions = CALLS["ask_user"][1]["questions"]
    nothing = dict.fromkeys(["question", "answer_type", "options", "context", "default"])
    assert registry.parse_call("ask_user", {**nothing, "questions": questions})[0] == "ask_user"
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("ask_user", {"question": "Q?", "questions": questions})
    assert [p.pointer for p in refused.value.problems] == ["/question"]


def with_unknown(dialect: str) -> tuple[str, dict[str, Any]]:
    """A call with a misspelt field at every level."""
    name, arguments = CALLS[dialect]
    found = {**arguments, "conext": "c"}
    for inner in ("question", "requestedSchema"):
        if isinstance(found.get(inner), dict):
            found[inner] = {**found[inner], "conext": "c"}
    if "questions" in found:
        found["questions"] = [{**each, "conext": "c"} for each in found["questions"]]
    return name, found


@pytest.mark.parametrize("dialect", ["ask_user", "single", "tool_question"])
def test_our_own_dialects_refuse_unknown_fields_and_name_the_nearest(dialect: str) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call(*with_unknown(dialect))
    problems = refused.value.problems
    assert {problem.code for problem in problems} == {"unknown_value"}
    assert 'did you mean "context"?' in " ".join(problem.message for problem in problems)


@pytest.mark.parametrize("dialect", ["ask_user_form", "claude", "question", "elicitation"])
def test_foreign_dialects_ignore_unknown_fields(dialect: str) -> None:
    assert registry.parse_call(*with_unknown(dialect))[0] == dialect


@pytest.mark.parametrize(
    ("name", "dialect", "meant"),
    [("ask_users", None, "ask_user"), ("ask_user", "cluade", "claude")],
)
def test_an_unknown_name_is_told_the_nearest_known_one(
    name: str, dialect: str | None, meant: str
) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call(name, {}, dialect)
    assert f'did you mean "{meant}"?' in refused.value.problems[0].message


@pytest.mark.parametrize("arguments", [{"prompt": "A?"}, {"questions": [{"prompt": "A?"}]}, {}])
def test_a_call_of_no_known_shape_is_told_what_else_its_name_takes(
    arguments: dict[str, Any],
) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("ask_user", arguments)
    first, *others = refused.value.problems
    assert first.message.endswith("its other dialects are: single, ask_user_form.")
    assert not [problem for problem in others if "other dialects" in problem.message]
    with pytest.raises(InvalidCallError) as told:
        registry.parse_call("ask_user", {**arguments}, "ask_user")
    assert "other dialects" not in told.value.problems[0].message
