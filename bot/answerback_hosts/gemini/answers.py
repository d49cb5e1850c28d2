"""The answers to Gemini CLI's hooks. Pure."""

from __future__ import annotations

from typing import Final

from answerback_agents.pipe.host_answers import SPECIFIC, HostAnswers, Json

_FIELDS: Final = frozenset(
    {SPECIFIC, "decision", "reason", "continue", "stopReason", "systemMessage"}
)


def _denial(event: Json, reason: str) -> Json | None:
    match event:
        case {"hook_event_name": "BeforeTool"}:
            return {"decision": "deny", "reason": reason}
        case _:
            return None


def _decides(_event: Json, answer: Json) -> bool:
    decides = answer.get("decision") in ("allow", "deny") or answer.get("continue") is False
    return decides and not answer.keys() - _FIELDS


ANSWERS: Final = HostAnswers(_denial, _decides)
