"""What a host can be answered to an event: anything else does not come from the service. Pure."""

from __future__ import annotations

from typing import Any, Final

from answerback_agents.pipe.denials import denial
from answerback_agents.pipe.json_rpc import Json, as_object

_SPECIFIC: Final = "hookSpecificOutput"
_AROUND: Final = frozenset({_SPECIFIC, "continue", "stopReason", "systemMessage"})
"""The fields of an answer of all hosts but Copilot."""


def is_answer(agent: str, event: Json, answer: Json) -> bool:
    """Whether a host takes this answer to an event for what the service says: a decision, where the event needs one."""
    if denial(agent, event, "") is None:
        return answer == {} or _adds_context(agent, event, answer)
    if agent == "copilot":
        return _is_permission(answer, interrupt=True)
    if answer.keys() - _AROUND - ({"decision", "reason"} if agent == "gemini" else set()):
        return False
    if agent == "gemini":
        return answer.get("decision") in ("allow", "deny") or answer.get("continue") is False
    specific = answer.get(_SPECIFIC)
    if specific is None:  # Claude Code asks in its own window
        return event["hook_event_name"] == "Elicitation" and _is_text(answer, "systemMessage")
    return as_object(specific).get("hookEventName") == event["hook_event_name"] and _decides(
        agent, event["hook_event_name"], as_object(specific)
    )


def _decides(agent: str, name: str, specific: Json) -> bool:
    match name:
        case "PermissionRequest":
            return _is_permission(as_object(specific.get("decision")), interrupt=agent == "claude")
        case "Elicitation":
            return specific.get("action") in ("accept", "decline", "cancel")
        case _:
            allowed = ("allow", "deny") if agent == "claude" else ("deny",)
            return specific.get("permissionDecision") in allowed


def _is_permission(decision: Json, *, interrupt: bool) -> bool:
    is_plain = interrupt or "interrupt" not in decision
    if decision.get("behavior") == "deny":
        return is_plain and _is_text(decision, "message")
    return is_plain and decision.get("behavior") == "allow"


def _adds_context(agent: str, event: Json, answer: Json) -> bool:
    """Whether an answer adds words for the model, and nothing else."""
    if agent == "copilot":
        return answer.keys() == {"additionalContext"} and _is_text(answer, "additionalContext")
    specific: dict[str, Any] = as_object(answer.get(_SPECIFIC))
    return (
        answer.keys() == {_SPECIFIC}
        and specific.keys() == {"hookEventName", "additionalContext"}
        and specific["hookEventName"] == event.get("hook_event_name")
        and _is_text(specific, "additionalContext")
    )


def _is_text(fields: Json, key: str) -> bool:
    return isinstance(fields.get(key), str)
