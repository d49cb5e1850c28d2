"""Claude Code's command hooks, for use if its HTTP hook at /hooks/claude is not possible.

Shapes: https://code.claude.com/docs/en/hooks.
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
    is_answered,
    is_turn_ended,
    parse_arguments,
    structured_result,
)

_ASK_TOOL: Final = "AskUserQuestion"
_CONTEXT_EVENTS: Final = frozenset(
    {"UserPromptSubmit", "SessionStart", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"}
)
_PERMISSION_FIELDS: Final = (
    "tool_name",
    "tool_input",
    "permission_suggestions",
    "mcp_server",
    "cwd",
)


def _call(event: Json) -> Call | None:
    session, tool_input = first_text(event, "session_id"), event.get("tool_input")
    match event:
        case {
            "hook_event_name": "PreToolUse" | "PermissionRequest",
            "tool_name": "AskUserQuestion",
        }:
            call_id = first_text(event, "tool_use_id")
            questions = {"questions": parse_arguments(tool_input).get("questions")}
            answers = parse_arguments(tool_input).get("answers")
            return Call(
                name=_ASK_TOOL,
                arguments=questions,
                answers=answers and {**questions, "answers": answers},
                conversation=session,
                tool_call_id=call_id,
                key=f"claude:{session}:{call_id}" if session and call_id else None,
                cwd=first_text(event, "cwd"),
            )
        case {"hook_event_name": "PermissionRequest"}:
            return Call(
                name="PermissionRequest",
                arguments={
                    key: event[key] for key in _PERMISSION_FIELDS if event.get(key) is not None
                },
                conversation=session,
                is_permission=True,
                cwd=first_text(event, "cwd"),
            )
        case {"hook_event_name": "Elicitation", "requested_schema": dict() as schema}:
            call_id = first_text(event, "elicitation_id")
            return Call(
                name="elicitation/create",
                arguments={"message": event.get("message"), "requestedSchema": schema},
                conversation=session,
                tool_call_id=call_id,
                key=f"claude:{session}:{call_id}" if session and call_id else None,
                cwd=first_text(event, "cwd"),
            )
        case _:
            return None


def _answer(event: Json, outcome: AskOutcome) -> Json:
    stop = {"continue": False, "stopReason": "The user ended the turn."}
    stopping = stop if is_turn_ended(outcome) else {}
    match event["hook_event_name"]:
        case "Elicitation":
            return {
                **stopping,
                **_output(event, structured_result(outcome) or {"action": "cancel"}),
            }
        case "PreToolUse":
            return {**stopping, **_output(event, _decide_question(event, outcome))}
        case _:
            return _output(event, {"decision": _decide_permission(event, outcome)})


def _decide_question(event: Json, outcome: AskOutcome) -> Json:
    updated = _updated_input(event, outcome)
    reason = {"permissionDecisionReason": describe_outcome(outcome)}
    if updated is None:
        return {"permissionDecision": "deny", **reason}
    return {"permissionDecision": "allow", **reason, "updatedInput": updated}


def _updated_input(event: Json, outcome: AskOutcome) -> Json | None:
    """The input of AskUserQuestion with people's answers; None if they did not answer."""
    result = structured_result(outcome)
    if not is_answered(outcome) or not result:
        return None
    answers = {key: result.get(key) for key in ("answers", "annotations")}
    asked = {key: value for key, value in event["tool_input"].items() if key not in answers}
    return {**asked, **{key: value for key, value in answers.items() if value is not None}}


def _decide_permission(event: Json, outcome: AskOutcome) -> Json:
    interrupt = {"interrupt": True} if is_turn_ended(outcome) else {}
    if event.get("tool_name") == _ASK_TOOL:
        updated = _updated_input(event, outcome)
        if updated is not None:
            return {"behavior": "allow", "updatedInput": updated}
        return {"behavior": "deny", "message": describe_outcome(outcome), **interrupt}
    why_not = denial_reason(outcome)
    if why_not is None:
        decision: Json = structured_result(outcome)["hookSpecificOutput"]["decision"]
        return decision
    return {"behavior": "deny", "message": why_not, **interrupt}


def _conversation(event: Json) -> str | None:
    return (
        first_text(event, "session_id") if event.get("hook_event_name") in _CONTEXT_EVENTS else None
    )


def _build_context(event: Json, words: str) -> Json:
    return _output(event, {"additionalContext": words})


def _output(event: Json, output: Json) -> Json:
    return {"hookSpecificOutput": {"hookEventName": event["hook_event_name"], **output}}


HOST: Final = Host(_call, _answer, _conversation, _build_context)
