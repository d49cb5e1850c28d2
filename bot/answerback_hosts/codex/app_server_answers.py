"""The answers to Codex: the shapes of its requests' results."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback_agents.bridges.ask_people import reason_for_no_answer, structured_result
from answerback_client import Ask

Json = dict[str, JsonValue]

QUESTION: Final = "item/tool/requestUserInput"
ELICITATION: Final = "mcpServer/elicitation/request"
PERMISSIONS: Final = "item/permissions/requestApproval"
_DECLINED: Final[dict[str, Json]] = {
    ELICITATION: {"action": "cancel"},
    PERMISSIONS: {"permissions": {}, "scope": "turn"},
}
_FAILED: Final = -32000


def answer_of(method: str, ask: Ask) -> Json:
    """The response that reports to Codex how an ask ended."""
    structured = structured_result(ask)
    if method == QUESTION:
        if structured is not None:
            return {"result": {"answers": structured.get("answers")}}
        if ask.end_turn:
            return {"result": {"answers": {}}}
        return {"error": {"code": _FAILED, "message": reason_for_no_answer(ask)}}
    if structured is not None:
        return {"result": structured}
    return {"result": refusal(method, "cancel" if ask.end_turn else "decline")}


def refusal(method: str, decision: str = "decline") -> Json:
    """The result of a request that nobody has allowed."""
    return _DECLINED.get(method, {"decision": decision})
