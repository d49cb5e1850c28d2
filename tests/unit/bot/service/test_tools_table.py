"""``[tools]``: a setting under one name of a dialect applies to all its names."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.errors import InvalidCallError
from answerback.core.view import view_of
from answerback.core.walker import Source
from answerback.service.question_routing import Rules
from answerback.service.service import Service
from answerback.service.submission_request import read_submission
from tests.unit.bot.conftest import Parts
from tests.unit.bot.dialect_support import CALLS

CLAUDE, QUESTION, ASK_USER, GIT = (
    CALLS[dialect][1] for dialect in ("claude", "question", "ask_user", "tool_question")
)


def rules(**tools: Any) -> Rules:
    return Rules.model_validate({"tools": tools})


async def submitted(service: Service, name: str, arguments: Any, dialect: str | None = None) -> Ask:
    body = {
        "name": name,
        "arguments": arguments,
        "dialect": dialect,
        "to": "chat:C1",
        "responders": "anyone",
    }
    return (await service.submit(read_submission(body))).ask


OFF = [
    ("AskUserQuestion", "AskUserQuestion", CLAUDE, None),
    ("AskUserQuestion", "ask_user_question", CLAUDE, None),
    ("ask_user_question", "AskUserQuestion", CLAUDE, None),
    ("claude", "AskUserQuestion", CLAUDE, None),
    ("AskUserQuestion", "ask_user", CLAUDE, "claude"),
    ("question", "ask_user", QUESTION, "question"),
    ("question", "anything", QUESTION, "question"),
    ("question", "question", ASK_USER, "ask_user"),
    ("ask_user", "ask_user", {"question": "a?"}, None),
    ("ask_user", "question", ASK_USER, "ask_user"),
    ("ask_user", "question", {"question": "a?"}, "single"),
    ("single", "ask_user", {"question": "a?"}, None),
    ("git", "tool_question", GIT, None),
]


@pytest.mark.rule("DIALECT-8")
@pytest.mark.parametrize(("off", "name", "arguments", "dialect"), OFF)
async def test_a_disabled_dialect_is_rejected_under_all_its_names_and_by_dialect(
    parts: Parts, off: str, name: str, arguments: Any, dialect: str | None
) -> None:
    service = parts.service(rules(**{off: {"enable": False}}))
    with pytest.raises(InvalidCallError) as refused:
        await submitted(service, name, arguments, dialect)
    (problem,) = refused.value.problems
    assert (problem.pointer, problem.code) == ("/name", "unknown_value")
    assert f"tools.{off}.enable" in problem.message


@pytest.mark.parametrize(
    ("off", "name", "arguments"),
    [
        ("single", "ask_user", ASK_USER),
        ("AskUserQuestion", "ask_user", ASK_USER),
        ("question", "AskUserQuestion", CLAUDE),
        ("git", "ask_user", ASK_USER),
    ],
)
async def test_other_dialects_are_still_asked(
    parts: Parts, off: str, name: str, arguments: Any
) -> None:
    service = parts.service(rules(**{off: {"enable": False}}))
    assert (await submitted(service, name, arguments)).status is Status.OPEN


@pytest.mark.rule("CONFIG-8")
@pytest.mark.parametrize("key", ["AskUserQuestion", "ask_user_question", "claude"])
@pytest.mark.parametrize("name", ["AskUserQuestion", "ask_user_question"])
async def test_a_static_answer_applies_to_all_names_of_a_dialect(
    parts: Parts, key: str, name: str
) -> None:
    fixed = {"questions": {"q1": {"answer": "A"}, "q2": {"answer": ["B"]}}}
    ask = await submitted(parts.service(rules(**{key: fixed})), name, CLAUDE)
    assert ask.status is Status.ANSWERED
    assert [(given.value, given.source) for given in ask.walk.answers] == [
        ("A", Source.CONFIG),
        (["B"], Source.CONFIG),
    ]


@pytest.mark.rule("CONFIG-8")
async def test_each_setting_is_taken_from_the_most_specific_name_that_has_it(parts: Parts) -> None:
    service = parts.service(
        rules(
            AskUserQuestion={"questions": {"q2": {"prompt_label": "Exact"}}},
            claude={
                "questions": {
                    "q1": {"answer": "A"},
                    "q2": {"answer": "no option", "prompt_label": "General"},
                }
            },
        )
    )
    ask = await submitted(service, "AskUserQuestion", CLAUDE)
    assert (ask.status, view_of(ask).label) == (Status.FAILED, "Assistant")
    assert ask.outcome is not None
    assert "tools.claude.questions.q2.answer" in (ask.outcome.message or "")
    only = parts.service(rules(claude={"questions": {"q1": {"prompt_label": "General"}}}))
    assert view_of(await submitted(only, "ask_user_question", CLAUDE)).label == "General"
