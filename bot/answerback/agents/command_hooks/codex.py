"""Codex's command hooks.

Shapes: the schemas of hooks in Codex 0.169.0. A PreToolUse hook can block a call but not give it a result, so the
answer is in the message of the block. A PermissionRequest hook may only allow or deny; anything else is an error.
"""

from __future__ import annotations

from typing import Final

from answerback.agents.command_hooks.agent_host import (
    AskOutcome,
    Call,
    Host,
    Json,
    denial_reason,
    describe_outcome,
    first_text,
    parse_arguments,
)

_ASK_TOOL: Final = "request_user_input"
_CONTEXT_EVENTS: Final = frozenset({"UserPromptSubmit", "SessionStart", "PostToolUse"})


def _call(event: Json) -> Call | None:
    session, turn = first_text(event, "session_id"), first_text(event, "turn_id")
    match event:
        case {"hook_event_name": "PreToolUse", "tool_name": "request_user_input"}:
            call_id = first_text(event, "tool_use_id")
            return Call(
                name=_ASK_TOOL,
                arguments=parse_arguments(event.get("tool_input")),
                conversation=session,
                turn=turn,
                tool_call_id=call_id,
                key=f"codex:{session}:{call_id}" if session and call_id else None,
                cwd=first_text(event, "cwd"),
            )
        case {"hook_event_name": "PermissionRequest"}:
            asked = {
                key: event[key] for key in ("tool_name", "tool_input", "cwd") if event.get(key)
            }
            return Call(
                name="PermissionRequest",
                arguments=asked,
                conversation=session,
                turn=turn,
                is_permission=True,
                cwd=first_text(event, "cwd"),
            )
        case _:
            return None


def _answer(event: Json, outcome: AskOutcome) -> Json:
    if event["hook_event_name"] == "PreToolUse":
        block = {
            "permissionDecision": "deny",
            "permissionDecisionReason": describe_outcome(outcome),
        }
        return _output(event, block)
    why_not = denial_reason(outcome)
    decision = (
        {"behavior": "allow"} if why_not is None else {"behavior": "deny", "message": why_not}
    )
    return _output(event, {"decision": decision})


def _conversation(event: Json) -> str | None:
    return (
        first_text(event, "session_id") if event.get("hook_event_name") in _CONTEXT_EVENTS else None
    )


def _build_context(event: Json, words: str) -> Json:
    return _output(event, {"additionalContext": words})


def _output(event: Json, output: Json) -> Json:
    return {"hookSpecificOutput": {"hookEventName": event["hook_event_name"], **output}}


HOST: Final = Host(_call, _answer, _conversation, _build_context)
