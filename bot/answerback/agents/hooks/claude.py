"""Claude Code's hooks, over HTTP or as commands.

Shapes: https://code.claude.com/docs/en/hooks, and the types of the package @anthropic-ai/claude-agent-sdk 0.3.330.
"""

from __future__ import annotations

from typing import Final

from answerback.agents.hooks.host import (
    Call,
    Host,
    Json,
    Outcome,
    call_key,
    context_session,
    denial_reason,
    describe_outcome,
    first_text,
    is_answered,
    is_turn_ended,
    origin,
    parse_arguments,
    structured_result,
)
from answerback.agents.pipe.denials import deny, output

_ASK_TOOL: Final = "AskUserQuestion"
CONTEXT_EVENTS: Final = frozenset(
    {
        "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit", "UserPromptExpansion",
        "SessionStart", "Setup", "Stop", "SubagentStart", "SubagentStop", "Notification", "PostModelSwitch",
    }
)  # fmt: skip
"""The events whose answer may have ``additionalContext``. On ``Stop``, the conversation continues with it."""
_PERMISSION_FIELDS: Final = (
    "tool_name",
    "tool_input",
    "permission_suggestions",
    "mcp_server",
    "cwd",
)
_VIA: Final = "claude-code"


def _call(event: Json) -> Call | None:
    session = first_text(event, "session_id")
    match event:
        case {
            "hook_event_name": "PreToolUse" | "PermissionRequest" as name,
            "tool_name": "AskUserQuestion",
        }:
            tool_input = parse_arguments(event.get("tool_input"))
            call_id = first_text(event, "tool_use_id")
            return Call(
                name=_ASK_TOOL,
                arguments={"questions": tool_input.get("questions")},
                dialect="claude",
                answers=tool_input.get("answers") if name == "PermissionRequest" else None,
                conversation=session,
                tool_call_id=call_id,
                key=call_key(event, call_id),
                is_permission=name == "PermissionRequest",
                metadata=origin(event, via=_VIA),
            )
        case {"hook_event_name": "PermissionRequest", "tool_name": str()}:
            return Call(
                name="PermissionRequest",
                arguments={
                    key: event[key] for key in _PERMISSION_FIELDS if event.get(key) is not None
                },
                dialect="approval",
                conversation=session,
                is_permission=True,
                metadata=origin(event, via=_VIA),
            )
        case {"hook_event_name": "Elicitation", "requested_schema": dict() as schema}:
            call_id = first_text(event, "elicitation_id")
            return Call(
                name="elicitation/create",
                arguments={"message": event.get("message"), "requestedSchema": schema},
                dialect="elicitation",
                conversation=session,
                tool_call_id=call_id,
                key=call_key(event, call_id),
                metadata=origin(event, via=_VIA, mcp_server=first_text(event, "mcp_server_name")),
            )
        case _:
            return None


def _answer(event: Json, outcome: Outcome) -> Json:
    match event["hook_event_name"]:
        case "Elicitation":
            return _stop(outcome) | _answer_elicitation(event, outcome)
        case "PreToolUse":
            return _stop(outcome) | _answer_question(event, outcome)
        case _:
            return output(event, {"decision": _decide_permission(event, outcome)})


def _stop(outcome: Outcome) -> Json:
    """Stop Claude and show its user the reason, if a person ended the turn."""
    if not is_turn_ended(outcome):
        return {}
    ended_by = outcome.ask.outcome.ended_by if outcome.ask and outcome.ask.outcome else None
    name = f" by {ended_by.name or ended_by.user_id} on {ended_by.surface}" if ended_by else ""
    return {"continue": False, "stopReason": f"The turn was ended{name}."}


def _answer_elicitation(event: Json, outcome: Outcome) -> Json:
    if (result := structured_result(outcome)) is not None:
        return output(event, result)
    if is_turn_ended(outcome):
        return output(event, {"action": "cancel"})
    if not outcome.was_asked:  # Claude Code asks in its own window
        return {"systemMessage": describe_outcome(outcome)}
    return deny(HOST.name, event, describe_outcome(outcome))


def _answer_question(event: Json, outcome: Outcome) -> Json:
    reason = describe_outcome(outcome)
    if (updated := _updated_input(event, outcome)) is None:
        return deny(HOST.name, event, reason)
    allowed = {"permissionDecision": "allow", "permissionDecisionReason": reason}
    return output(event, {**allowed, "updatedInput": updated})


def _updated_input(event: Json, outcome: Outcome) -> Json | None:
    """The input of AskUserQuestion with people's answers; None if they did not answer."""
    result = structured_result(outcome)
    if not is_answered(outcome) or not result:
        return None
    read = {key: result.get(key) for key in ("questions", "answers", "annotations")}
    tool_input = parse_arguments(event.get("tool_input"))
    sent = {key: value for key, value in tool_input.items() if key not in read}
    return {**sent, **{key: value for key, value in read.items() if value is not None}}


def _decide_permission(event: Json, outcome: Outcome) -> Json:
    if event.get("tool_name") == _ASK_TOOL:
        if (updated := _updated_input(event, outcome)) is not None:
            return {"behavior": "allow", "updatedInput": updated}
        why_not: str | None = describe_outcome(outcome)
    else:
        why_not = denial_reason(outcome)
    if why_not is None:
        decision: Json = (structured_result(outcome) or {})["hookSpecificOutput"]["decision"]
        return decision
    interrupt = {"interrupt": True} if is_turn_ended(outcome) else {}
    return {"behavior": "deny", "message": why_not, **interrupt}


def _conversation(event: Json) -> str | None:
    """The session of an event that can add context for Claude itself, rather than for a subagent."""
    is_claude = event.get("agent_id") is None
    return context_session(event, CONTEXT_EVENTS) if is_claude else None


def _tell_model(event: Json, text: str) -> Json:
    return output(event, {"additionalContext": text})


HOST: Final = Host("claude", _call, _answer, _conversation, _tell_model)
