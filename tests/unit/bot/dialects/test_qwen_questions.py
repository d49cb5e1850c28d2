"""Qwen Code's questions, which its agent asks over ACP by a permission request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Answer, Other, Reply
from answerback.core.ask import Status
from tests.unit.bot.acp_support import Editor, permission, run_editor, withdrawn
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.dialect_support import act, ask_from_call, problem_codes, result, without_answer

Json = dict[str, Any]
NAME = "session/request_permission"
OPTIONS = [{"label": each, "description": each} for each in ("red", "blue", "a, b")]
QUESTIONS: list[Json] = [
    {"question": "Which?", "header": "Color", "options": OPTIONS, "multiSelect": False},
    {"question": "Which ones?", "header": "Colors", "options": OPTIONS, "multiSelect": True},
    {"question": "And then?", "header": "Then", "options": OPTIONS},
]
TOOL_CALL: Json = {
    "toolCallId": "call_1",
    "title": "Ask user 3 questions",
    "kind": "think",
    "rawInput": {"questions": QUESTIONS},
    "_meta": {"qwenInteractionKind": "user_question", "qwenQuestions": QUESTIONS},
}
CALL: Json = {
    "sessionId": "s1",
    "toolCall": TOOL_CALL,
    "options": [
        {"optionId": "proceed_once", "name": "Submit", "kind": "allow_once"},
        {"optionId": "cancel", "name": "Cancel", "kind": "reject_once"},
    ],
}
SUBMITTED = {"outcome": "selected", "optionId": "proceed_once"}


@pytest.mark.rule("QWEN-1")
def test_the_questions_are_asked_and_answered_by_position() -> None:
    ask = ask_from_call(NAME, CALL)
    assert ask.request.dialect == "qwen"
    assert [question.text for question in ask.form.questions] == [
        "Which?",
        "Which ones?",
        "And then?",
    ]
    ended = act(ask, Answer(value="red"), Answer(value=["red", "blue"]), Other(text="Nothing."))
    answers = {"0": "red", "1": "red, blue", "2": "Nothing."}
    assert result(ended)[0] == {"outcome": SUBMITTED, "answers": answers}
    none = act(ask, Answer(value="red"), Answer(value=[]), Answer(value="blue"))
    assert result(none)[0]["answers"] == {"0": "red", "2": "blue"}


@pytest.mark.rule("QWEN-2")
def test_the_words_of_a_reply_answer_the_open_question() -> None:
    ask = act(ask_from_call(NAME, CALL), Answer(value="red"))
    replied = result(act(ask, Reply(text="Ask Ada.")))[0]
    assert replied == {"outcome": SUBMITTED, "answers": {"0": "red", "1": "Ask Ada."}}
    cancelled = {"outcome": {"outcome": "cancelled"}}
    assert result(act(ask, Reply()))[0] == cancelled
    assert result(without_answer(ask, Status.EXPIRED))[0] == cancelled


@pytest.mark.rule("QWEN-1")
def test_problems_have_their_places() -> None:
    meta = {"qwenInteractionKind": "user_question", "qwenQuestions": []}
    assert problem_codes(NAME, {"toolCall": {"_meta": meta}}) == [
        ("/toolCall/_meta/qwenQuestions", "too_few")
    ]


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@pytest.fixture
async def editor(service: Served) -> AsyncIterator[Editor]:
    async with run_editor(service.url) as made:
        yield made


@pytest.mark.rule("QWEN-1", "ACP-2")
async def test_a_person_answers_them_through_the_proxy(service: Served, editor: Editor) -> None:
    request = permission(**{**CALL, "toolCall": {**TOOL_CALL, "rawInput": None}})
    await editor.prompt(request)
    assert await editor.next() == request
    ask = await service.newest()
    assert (ask.request.dialect, ask.request.tool_call_id) == ("qwen", "call_1")
    for value in ("blue", ["red"], "red"):
        await service.act(ask, action="answer", value=value)
    received = [await editor.next(), await editor.next()]
    received.remove(withdrawn())
    line = received[0]["params"]["line"]
    assert '"answers": {"0": "blue", "1": "red", "2": "red"}' in line
