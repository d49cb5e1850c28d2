"""The answers to Codex's hooks. Pure."""

from __future__ import annotations

from typing import Final

from answerback_agents.pipe.host_answers import (
    HostAnswers,
    Json,
    decision_in,
    is_permission,
    output,
)
from answerback_agents.pipe.json_rpc import as_object


def _denial(event: Json, reason: str) -> Json | None:
    match event:
        case {"hook_event_name": "PermissionRequest", "tool_name": str()}:
            return output(event, {"decision": {"behavior": "deny", "message": reason}})
        case {"hook_event_name": "PreToolUse", "tool_name": "request_user_input"}:
            denied = {"permissionDecision": "deny", "permissionDecisionReason": reason}
            return output(event, denied)
        case _:
            return None


def _decides(event: Json, answer: Json) -> bool:
    if (decided := decision_in(event, answer)) is None:
        return False
    if event["hook_event_name"] == "PermissionRequest":
        return is_permission(as_object(decided.get("decision")), interrupt=False)
    return bool(decided.get("permissionDecision") == "deny")


ANSWERS: Final = HostAnswers(_denial, _decides)
