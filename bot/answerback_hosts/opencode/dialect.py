"""The dialect `opencode`: opencode's question tool; the answer to each question is a list of labels or free text.

Based on the packages opencode-ai 1.18.33 and @opencode-ai/sdk 1.19.3. A call may also be one question, as of the
extension examples/extensions/question.ts in @earendil-works/pi-coding-agent 1.5.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, ToolResult
from answerback.core.form import Question
from answerback.dialects import results
from answerback.dialects.choice_rows import Row
from answerback.dialects.dialect import CallRule, Dialect, Shape
from answerback.dialects.tool_description import SEVERAL, described_tool
from answerback.dialects.tool_schema_parts import (
    HEADER,
    MULTIPLE,
    OR_FREE_TEXT,
    QUESTION_TEXT,
    questions_schema,
)

_ROW: Final = Row(
    labels=("label",),
    multiple=("multiple",),
    header="header",
    free_text="custom",
    lists_options=True,
)


@results.unless_failed
def render(ask: Ask) -> ToolResult:
    """Render the tool result of an ask that has ended, as the host itself would for these answers."""
    reply: list[JsonValue] = [] if ask.walk.reply is None else [ask.walk.reply]
    rows = [*results.values_by_question(ask, reply)]
    structured: JsonValue = {"answers": [row for _, row in rows], **results.reason_field(ask)}
    return ToolResult(content=_content(ask, rows), structured=structured)


def _content(ask: Ask, rows: Sequence[tuple[Question, list[JsonValue]]]) -> str:
    """Return the host's words for answers that its user gave; other words for others."""
    given = {each.question_id: each for each in ask.walk.answers}
    remarks = {
        key: remark for key, each in given.items() if (remark := results.source_remark(each))
    }
    answers = ", ".join(
        f'"{question.text}"="{", ".join(map(str, row)) or "Unanswered"}"'
        + (f" ({remarks[question.id]})" if question.id in remarks else "")
        for question, row in rows
    )
    if results.end_reason(ask):
        return f"{results.unanswered_text(ask)} {answers}"
    if remarks:
        return f"These answers to your questions are not all from the user: {answers}."
    return f"User has answered your questions: {answers}. You can now continue with the user's answers in mind."


_PARAMETERS: Final = questions_schema(
    {
        "question": QUESTION_TEXT,
        "header": HEADER,
        "options": OR_FREE_TEXT,
        "multiple": MULTIPLE,
    },
    "question",
    "options",
)
_TOOL: Final = described_tool(
    "opencode",
    "question",
    _PARAMETERS,
    SEVERAL,
    '{"answers": [[…]]}, for each question the labels or the user\'s own words; an empty list if unanswered. '
    "If the user replies instead, the reply is the answer to the question that was open.",
    shape='questions with question and options, which return {"answers": [[…]]} in their order',
)

DIALECT: Final = Dialect(
    name="opencode",
    calls=(
        CallRule(
            ("question",),
            Shape(first_has=frozenset({"question"}), first_lacks=frozenset({"prompt"})),
        ),
        CallRule(("question",), Shape(has=frozenset({"question"}), lacks=frozenset({"questions"}))),
    ),
    parse=_ROW.parse,
    render=render,
    tool=_TOOL,
    order=9,
)
