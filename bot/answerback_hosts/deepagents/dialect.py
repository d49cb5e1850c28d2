"""The dialect `deepagents`: read in deepagents-code 0.1.57."""

from __future__ import annotations

from typing import Final

from answerback.core.ask import Ask, Status, ToolResult
from answerback.dialects import results
from answerback.dialects.choice_rows import Row, row_dialect
from answerback.dialects.dialect import Shape
from answerback.dialects.tool_description import SEVERAL, described_tool
from answerback.dialects.tool_schema_parts import (
    LABEL,
    QUESTION_TEXT,
    object_schema,
    options_schema,
    questions_schema,
)

_TYPES: Final = ("text", "multiple_choice", "multi_select")


def _render(ask: Ask) -> ToolResult:
    """Deep Agents: what its interrupt is resumed with, and the transcript that its model reads."""
    answered = ask.status is Status.ANSWERED
    missing = (
        ""
        if answered
        else results.unanswered_text(ask).replace("[cancelled by user]", "(cancelled)")
    )
    given = [
        (question.text, missing if ask.walk.answer(question.id) is None else results.joined(row))
        for question, row in results.rows(ask)
    ]
    status = "answered" if answered else "cancelled"
    content = "\n\n".join(f"Q: {question}\nA: {answer}" for question, answer in given)
    return ToolResult(
        content=results.append_reply(ask, results.remarked(ask, content)),
        structured={
            "status": status,
            "answers": [answer for _, answer in given],
            **results.reply_and_reason_fields(ask),
        },
    )


_PARAMETERS: Final = questions_schema(
    {
        "question": QUESTION_TEXT,
        "type": {
            "type": "string",
            "enum": ["text", "multiple_choice", "multi_select"],
            "description": "Free text, one of the choices, or several.",
        },
        "choices": options_schema(object_schema({"value": LABEL}, "value")),
    },
    "question",
    "type",
)
_TOOL: Final = described_tool(
    "deepagents",
    "ask_user",
    _PARAMETERS,
    SEVERAL,
    "each question after Q: with its answer after A:, several joined by commas; (cancelled) if there is none.",
    shape="questions with question, type multiple_choice or multi_select and choices, which return Q: and A: lines",
)

DIALECT: Final = row_dialect(
    "deepagents",
    Row(options="choices", labels=("value",), types=_TYPES),
    _render,
    "ask_user",
    Shape(any_type=frozenset(_TYPES[1:])),
    35,
    order=21,
    tool=_TOOL,
)
