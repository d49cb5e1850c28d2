"""Claude Code's command hooks, where its HTTP hook at /hooks/claude cannot be used.

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

_ASKING: Final = "AskUserQuestion"
_TAKE_CONTEXT: Final = frozenset(
    {"UserPromptSubmit", "SessionStart", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"}
)
_SHOWN: Final = ("tool_name", "tool_input", "permission_suggestions", "mcp_server", "cwd")


def _call(event: Json) -> Call | None:
    session, given = first_text(event, "session_id"), event.get("tool_input")
    match event:
        case {
            "hook_event_name": "PreToolUse" | "PermissionRequest",
            "tool_name": "AskUserQuestion",
        }:
            call_id = first_text(event, "tool_use_id")
            questions = {"questions": parse_arguments(given).get("questions")}
            answers = parse_arguments(given).get("answers")
            return Call(
                name=_ASKING,
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
                arguments={key: event[key] for key in _SHOWN if event.get(key) is not None},
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
            return {**stopping, **_output(event, _question(event, outcome))}
        case _:
            return _output(event, {"decision": _decision(event, outcome)})


def _question(event: Json, outcome: AskOutcome) -> Json:
    updated = _updated(event, outcome)
    told = {"permissionDecisionReason": describe_outcome(outcome)}
    if updated is None:
        return {"permissionDecision": "deny", **told}
    return {"permissionDecision": "allow", **told, "updatedInput": updated}


def _updated(event: Json, outcome: AskOutcome) -> Json | None:
    """The input of AskUserQuestion with the answers that people gave."""
    found = structured_result(outcome)
    if not is_answered(outcome) or not found:
        return None
    given = {key: found.get(key) for key in ("answers", "annotations")}
    asked = {key: value for key, value in event["tool_input"].items() if key not in given}
    return {**asked, **{key: value for key, value in given.items() if value is not None}}


def _decision(event: Json, outcome: AskOutcome) -> Json:
    interrupt = {"interrupt": True} if is_turn_ended(outcome) else {}
    if event.get("tool_name") == _ASKING:
        updated = _updated(event, outcome)
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
        first_text(event, "session_id") if event.get("hook_event_name") in _TAKE_CONTEXT else None
    )


def _tell(event: Json, words: str) -> Json:
    return _output(event, {"additionalContext": words})


def _output(event: Json, output: Json) -> Json:
    return {"hookSpecificOutput": {"hookEventName": event["hook_event_name"], **output}}


HOST: Final = Host(_call, _answer, _conversation, _tell)
