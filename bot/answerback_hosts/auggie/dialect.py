"""The dialect `auggie`: read in @augmentcode/auggie 0.36.0."""

from __future__ import annotations

from typing import Final

from answerback.core.ask import Ask, Status, ToolResult
from answerback.dialects import results
from answerback.dialects.choice_rows import ONLY, Row, row_dialect
from answerback.dialects.tool_description import ONE, described_tool
from answerback.dialects.tool_schema_parts import CONTEXT, QUESTION_TEXT, SUGGESTIONS, object_schema


def _render(ask: Ask) -> ToolResult:
    """Auggie: a text."""
    if ask.form.questions[0].id == ONLY:
        given = ask.walk.answer(ONLY)
        answer = (
            results.joined(results.answer_values(given)) if given is not None else ask.walk.reply
        )
        text = f"User responded: {answer}" if answer is not None else _declined(ask)
    elif ask.status is Status.ANSWERED or ask.walk.reply or ask.walk.answers:
        text = "\n".join(
            f"{question.text}\t{results.joined(row) or '[No answer provided]'}"
            for question, row in results.rows(ask, replied=True)
        )
    else:
        text = _declined(ask)
    return results.text_result(results.remarked(ask, text))


def _declined(ask: Ask) -> str:
    expired = results.end_reason(ask) is not None
    return results.unanswered_text(ask) if expired else "Declined to answer."


_PARAMETERS: Final = object_schema(
    {"question": QUESTION_TEXT, "suggested_responses": SUGGESTIONS, "context": CONTEXT},
    "question",
    "suggested_responses",
)
_TOOL: Final = described_tool(
    "auggie",
    "ask-user",
    _PARAMETERS,
    ONE,
    "User responded: and the response, or the user's own words; or Declined to answer.",
)

DIALECT: Final = row_dialect(
    "auggie",
    Row(options="suggested_responses", context="context"),
    _render,
    "ask-user",
    order=22,
    tool=_TOOL,
)
