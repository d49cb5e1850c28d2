"""The dialect `qwen`: Qwen Code's questions over ACP, which its agent asks by a permission request.

Shapes: @qwen-code/qwen-code 0.24.4. The questions are in the ``_meta`` of the tool call, and the answers, keyed by
position, stand beside the outcome. A client that does not know this offers only Submit, which answers nothing.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import Form
from answerback.dialects import results
from answerback.dialects.ask_user_question import OTHERS, read_form
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect, Shape
from answerback_hosts.qwen.acp_calls import KIND, META, QUESTION

_ANSWERED: Final[JsonValue] = {"outcome": "selected", "optionId": "proceed_once"}
_DECLINED: Final[JsonValue] = {"outcome": {"outcome": "cancelled"}}


def _parse(call: ArgumentNode) -> Form | None:
    return read_form(call, OTHERS, call.at("toolCall").at(META), "qwenQuestions")


@results.unless_failed
def _render(ask: Ask) -> ToolResult:
    """Render the response to the request. The text of a Reply is the answer to the open question."""
    is_replied = ask.status is Status.CANCELLED and bool(ask.walk.reply)
    if ask.status is not Status.ANSWERED and not is_replied:
        return results.json_result(_DECLINED)
    extra: list[JsonValue] = [results.said(ask)] if is_replied else []
    rows = enumerate(results.values_by_question(ask, extra))
    answers: JsonValue = {str(i): ", ".join(map(str, row)) for i, (_, row) in rows if row}
    return results.json_result({"outcome": _ANSWERED, "answers": answers})


DIALECT: Final = Dialect(
    name="qwen",
    calls=(
        CallRule(
            ("session/request_permission",), Shape(at=("toolCall", META, KIND), says=QUESTION), 10
        ),
    ),
    parse=_parse,
    render=_render,
    order=27,
)
