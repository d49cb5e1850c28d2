"""Qwen Code's questions over ACP: its agent asks its own questions by a permission request, as read by `claude`.

Shapes: @qwen-code/qwen-code 0.24.4. The questions are in the ``_meta`` of the tool call, and the answers, keyed by
position, stand beside the outcome. A client that does not know this offers only Submit, which answers nothing.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.dialects import results
from answerback.dialects.call_reader import ArgumentNode

NAME: Final = "session/request_permission"
KIND: Final = ("toolCall", "_meta", "qwenInteractionKind")
"""Where a request says that it holds questions."""
USER_QUESTION: Final = "user_question"
QUESTIONS: Final = "qwenQuestions"
_ANSWERED: Final[JsonValue] = {"outcome": "selected", "optionId": "proceed_once"}
_DECLINED: Final[JsonValue] = {"outcome": {"outcome": "cancelled"}}


def meta(call: ArgumentNode) -> ArgumentNode:
    """Return the part of a call that holds its questions."""
    return call.at("toolCall").at("_meta")


def render(ask: Ask) -> ToolResult:
    """Render the response to the request. The text of a Reply is the answer to the open question."""
    is_replied = ask.status is Status.CANCELLED and bool(ask.walk.reply)
    if ask.status is not Status.ANSWERED and not is_replied:
        return results.json_result(_DECLINED)
    extra: list[JsonValue] = [results.said(ask)] if is_replied else []
    rows = enumerate(results.values_by_question(ask, extra))
    answers: JsonValue = {str(i): ", ".join(map(str, row)) for i, (_, row) in rows if row}
    return results.json_result({"outcome": _ANSWERED, "answers": answers})
