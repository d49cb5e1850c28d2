"""The answers to Grok's hooks. Pure."""

from __future__ import annotations

from typing import Final

from answerback_agents.pipe.host_answers import HostAnswers, Json, decision_in, output


def _denial(event: Json, reason: str) -> Json | None:
    match event:
        case {"hook_event_name": "PreToolUse", "tool_name": "ask_user_question"}:
            denied = {"permissionDecision": "deny", "permissionDecisionReason": reason}
            return output(event, denied)
        case _:
            return None


def _decides(event: Json, answer: Json) -> bool:
    decided = decision_in(event, answer)
    return decided is not None and decided.get("permissionDecision") == "deny"


ANSWERS: Final = HostAnswers(_denial, _decides)
