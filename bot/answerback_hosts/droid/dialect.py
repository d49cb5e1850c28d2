"""The dialect `droid`: read in droid-sdk 0.5.0."""

from __future__ import annotations

from typing import Any, Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.dialects import results
from answerback.dialects.choice_rows import Row, row_dialect


def _render(ask: Ask) -> ToolResult:
    """Factory Droid: the answers by number; it takes none of a questionnaire that was cancelled."""
    if ask.status is not Status.ANSWERED:
        return results.json_result(
            {"cancelled": True, "answers": [], **results.reply_and_reason_fields(ask)}
        )
    sent: Any = ask.request.arguments.get("questions") or [ask.request.arguments]
    asked = zip(sent, results.rows(ask), strict=True)
    answers: list[JsonValue] = [
        {
            "index": position if call.get("index") is None else call["index"],
            "question": question.text,
            "answer": results.joined(row),
        }
        for position, (call, (question, row)) in enumerate(asked, 1)
    ]
    return results.json_result({"answers": answers})


DIALECT: Final = row_dialect(
    "droid",
    Row(multiple=("multiSelect",), header="topic"),
    _render,
    "droid.ask_user",
    order=26,
)
