"""Which dialect a call is parsed as, and how unknown fields are handled."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.errors import InvalidCallError
from answerback.dialects import registry
from answerback.dialects.installed import call_rules, installed_dialects
from tests.unit.bot.dialect_support import CALLS, detected_dialect


@pytest.mark.rule("DIALECT-1")
@pytest.mark.parametrize(
    ("arguments", "dialect"),
    [
        ({"question": "Q?", "questions": None}, "single"),
        ({"question": "Q?", "answer_type": None, "when": None}, "single"),
        ({"question": "Q?", "questions": []}, "ask_user"),
        ({"question": None, "context": "c"}, "single"),
        ({"answer_type": "select", "options": ["a"]}, "single"),
        ({"options": ["a"], "questions": None}, "single"),
        ({"default": "d"}, "single"),
        ({"prompt": "Q?"}, "ask_user"),
        ({"questions": [{"answer_type": "text", "question": "Q?"}]}, "ask_user"),
        ({"questions": [{"answer_type": None, "question": "Q?"}]}, "ask_user_form"),
        ({"questions": [None, {"question": "Q?"}]}, "ask_user"),
        ({"questions": {"question": "Q?"}}, "ask_user_form"),
    ],
)
def test_the_shape_of_an_ask_user_call_decides_its_dialect_and_null_counts_as_missing(
    arguments: dict[str, Any], dialect: str
) -> None:
    assert detected_dialect("ask_user", arguments) == dialect


def test_fields_of_a_single_question_next_to_questions_must_be_null() -> None:
    questions = CALLS["ask_user"][1]["questions"]
    nothing = dict.fromkeys(["question", "answer_type", "options", "context", "default"])
    assert registry.parse_call("ask_user", {**nothing, "questions": questions})[0] == "ask_user"
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("ask_user", {"question": "Q?", "questions": questions})
    assert [p.pointer for p in refused.value.problems] == ["/question"]


def with_unknown(dialect: str) -> tuple[str, dict[str, Any]]:
    """Return a call with a misspelt field at every level."""
    name, arguments = CALLS[dialect]
    found = {**arguments, "conext": "c"}
    for inner in ("question", "requestedSchema"):
        if isinstance(found.get(inner), dict):
            found[inner] = {**found[inner], "conext": "c"}
    if "questions" in found:
        found["questions"] = [{**each, "conext": "c"} for each in found["questions"]]
    return name, found


@pytest.mark.rule("DIALECT-3")
@pytest.mark.parametrize("dialect", ["ask_user", "single", "tool_question"])
def test_our_own_dialects_reject_unknown_fields_and_suggest_the_closest(dialect: str) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call(*with_unknown(dialect))
    problems = refused.value.problems
    assert {problem.code for problem in problems} == {"unknown_value"}
    assert 'did you mean "context"?' in " ".join(problem.message for problem in problems)


@pytest.mark.rule("DIALECT-3")
@pytest.mark.parametrize(
    "dialect",
    [
        "ask_user_form",
        "claude",
        "question",
        "elicitation",
        "codex",
        "opencode",
        "gemini",
        "copilot",
        "vscode",
        "cline",
        "openclaw",
        "deepagents",
        "auggie",
        "continue",
        "cursor",
        "hermes",
        "droid",
        "approval",
    ],
)
def test_foreign_dialects_ignore_unknown_fields(dialect: str) -> None:
    assert registry.parse_call(*with_unknown(dialect))[0] == dialect


@pytest.mark.rule("DIALECT-2")
@pytest.mark.parametrize(
    ("name", "dialect", "meant"),
    [
        ("ask_users", None, "ask_user"),
        ("PermissionQuestion", None, "PermissionRequest"),
        ("ask_user", "cluade", "claude"),
    ],
)
def test_an_unknown_tool_name_gets_the_closest_known_one_suggested(
    name: str, dialect: str | None, meant: str
) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call(name, {}, dialect)
    (problem,) = refused.value.problems
    assert problem.pointer == ("/dialect" if dialect else "/name")
    assert f'did you mean "{meant}"?' in problem.message


@pytest.mark.rule("DIALECT-2")
@pytest.mark.parametrize(
    ("arguments", "others"),
    [
        ({}, "copilot, single, deepagents, openclaw, gemini, ask_user_form"),
        (
            {"answr_type": "text", "defalt": "a", "contxt": "c"},
            "single, copilot, deepagents, openclaw, gemini, ask_user_form",
        ),
        (
            {"questions": [{"prompt": "A?", "multiselect": True}]},
            "openclaw, gemini, ask_user_form, copilot, single, deepagents",
        ),
        (
            {"qestion": "A?", "chioces": ["a"]},
            "copilot, deepagents, single, openclaw, gemini, ask_user_form",
        ),
    ],
)
def test_a_call_of_unknown_shape_lists_the_other_dialects_of_its_name_closest_first(
    arguments: dict[str, Any], others: str
) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("ask_user", arguments)
    first, *rest = refused.value.problems
    assert first.message.endswith(
        f"The call was read in the dialect ask_user; other dialects of ask_user are: {others}."
    )
    assert not [problem for problem in rest if "other dialects" in problem.message]
    with pytest.raises(InvalidCallError) as error:
        registry.parse_call("ask_user", arguments, "ask_user")
    assert "other dialects" not in error.value.problems[0].message


def test_a_call_whose_name_has_one_dialect_mentions_no_others() -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("AskUserQuestion", {})
    assert "other dialects" not in refused.value.problems[0].message


@pytest.mark.rule("DIALECT-1")
def test_the_last_row_of_every_name_takes_all_other_calls() -> None:
    last = {name: rule.shape for _, rule in call_rules() for name in rule.names}
    assert set(last.values()) == {None}
    assert {dialect for dialect, _ in call_rules()} == set(installed_dialects().usable)
