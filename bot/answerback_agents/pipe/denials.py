"""How each host is told no, for the service and for a hook that cannot reach it. Pure."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def denial(agent: str, event: Json, reason: str) -> Json | None:
    """Build the answer that refuses what an event is about, in the host's shape; None if the event decides nothing."""
    match agent, event:
        case ("claude" | "codex", {"hook_event_name": "PermissionRequest", "tool_name": str()}):
            return output(event, {"decision": {"behavior": "deny", "message": reason}})
        case (
            ("claude", {"hook_event_name": "PreToolUse", "tool_name": "AskUserQuestion"})
            | (
                "codex",
                {"hook_event_name": "PreToolUse", "tool_name": "request_user_input"},
            )
            | ("grok", {"hook_event_name": "PreToolUse", "tool_name": "ask_user_question"})
        ):
            denied = {"permissionDecision": "deny", "permissionDecisionReason": reason}
            return output(event, denied)
        case ("claude", {"hook_event_name": "Elicitation", "requested_schema": dict()}) | (
            "claude",
            {"hook_event_name": "Elicitation", "mode": "url", "url": str()},
        ):
            return {**output(event, {"action": "cancel"}), "systemMessage": reason}
        case ("gemini", {"hook_event_name": "BeforeTool"}):
            return {"decision": "deny", "reason": reason}
        case ("copilot", {"hookName": "permissionRequest"}):
            return {"behavior": "deny", "message": reason}
        case _:
            return None


def deny(agent: str, event: Json, reason: str) -> Json:
    """Build the `denial` of an event that decides something."""
    denied = denial(agent, event, reason)
    if denied is None:
        raise AssertionError("people are asked only about events that can be denied")
    return denied


def output(event: Json, fields: Json) -> Json:
    """Build the answer to an event in the shape of all hosts but Copilot."""
    return {"hookSpecificOutput": {"hookEventName": event["hook_event_name"], **fields}}
