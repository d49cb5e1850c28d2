"""The dialect `openclaw`: read in OpenClaw 2026.9.6 (docs/tools/ask-user.md)."""

from __future__ import annotations

import json
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.dialects import results
from answerback.dialects.choice_rows import Row, row_dialect
from answerback.dialects.dialect import Shape
from answerback.dialects.tool_description import CHOICES, described_tool
from answerback.dialects.tool_schema_parts import (
    HEADER,
    KEY,
    LABELLED,
    MULTIPLE,
    QUESTION_TEXT,
    options_schema,
    questions_schema,
)

Json = dict[str, JsonValue]


def _render(ask: Ask) -> ToolResult:
    """OpenClaw: the labels by question id, in a list."""
    rows = results.rows(ask)
    by_id: Json = {question.id: row for question, row in rows}
    if ask.status is Status.ANSWERED:
        structured: Json = {"status": "answered", "answers": {"answers": by_id}}
        lines = [
            f"{question.header}: {results.joined(row) or '(no answer)'}" for question, row in rows
        ]
        text = results.remarked(ask, "\n".join(lines))
    else:
        answered: Json = {key: row for key, row in by_id.items() if row}
        structured = {"status": "no_answer", **results.reply_and_reason_fields(ask)}
        structured |= {"answers": {"answers": answered}} if answered else {}
        cancelled = results.end_reason(ask) is None
        what = "The question was cancelled" if cancelled else "No answer arrived"
        text = results.append_reply(ask, f"{what}; proceed with best judgment.")
    content = f"{text}\n\n{json.dumps(structured, ensure_ascii=False, indent=2)}"
    return ToolResult(content=content, structured=structured)


_PARAMETERS: Final = questions_schema(
    {
        "id": KEY,
        "header": HEADER,
        "question": QUESTION_TEXT,
        "options": options_schema(LABELLED, min_items=1),
        "multiSelect": MULTIPLE,
    },
    "id",
    "header",
    "question",
    "options",
)
_TOOL: Final = described_tool(
    "openclaw",
    "ask_user",
    _PARAMETERS,
    CHOICES,
    '{"status": "answered", "answers": {"answers": {id: […]}}}: labels and own words; or status no_answer.',
    shape="questions with id, header, question and options, which return lists by id",
)

DIALECT: Final = row_dialect(
    "openclaw",
    Row(labels=("label",), multiple=("multiSelect",), key="id", header="header"),
    _render,
    "ask_user",
    Shape(
        first_has=frozenset({"id", "question", "header"}),
        first_lacks=frozenset({"type", "answer_type"}),
    ),
    40,
    order=20,
    tool=_TOOL,
)
