"""Claude Code's hooks, over HTTP or as commands.

Shapes: https://code.claude.com/docs/en/hooks, and the types of the package @anthropic-ai/claude-agent-sdk 0.3.332.

Some of its tools need the user. Of these, release 2.1.332 takes a hook's permission for AskUserQuestion and
ExitPlanMode alone, and only with ``updatedInput``: without it, the permission is dropped and Claude Code waits on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from answerback.hooks.host import (
    NOT_ALLOWED,
    Call,
    Echo,
    Host,
    Json,
    Outcome,
    origin,
    parse_arguments,
    permission_call,
    session_of,
    text_in,
)
from answerback_agents.pipe.host_answers import deny, output
from answerback_hosts.claude.found_plan import FOUND_PLAN, has_plan

_ASK_TOOL: Final = "AskUserQuestion"
_PLAN_TOOL: Final = "ExitPlanMode"
_KEEP_PLANNING: Final = "The user did not approve the plan. Keep planning."
_ASKED: Final = ("questions", "title")
"""The fields that hold the questions of a call: its answers, and where it comes from, do not count."""
CONTEXT_EVENTS: Final = (
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit", "UserPromptExpansion",
    "SessionStart", "Setup", "Stop", "SubagentStart", "SubagentStop", "Notification", "PostModelSwitch",
)  # fmt: skip
"""The events whose answer may have ``additionalContext``. On ``Stop``, the conversation continues with it."""
_VIA: Final = "claude-code"


def _call(event: Json) -> Call | None:
    session = text_in(event, "session_id")
    match event:
        case {
            "hook_event_name": "PreToolUse" | "PermissionRequest" as name,
            "tool_name": "AskUserQuestion",
        }:
            tool_input = parse_arguments(event.get("tool_input"))
            return Call(
                name=_ASK_TOOL,
                arguments={key: tool_input.get(key) for key in _ASKED if key in tool_input},
                dialect="claude",
                answers=tool_input.get("answers") if name == "PermissionRequest" else None,
                conversation=session,
                tool_call_id=text_in(event, "tool_use_id"),
                is_permission=name == "PermissionRequest",
                metadata=origin(event, via=_VIA),
            )
        case {"hook_event_name": "PermissionRequest", "tool_name": "ExitPlanMode"}:
            found, tool_input = _found_plan(event), parse_arguments(event.get("tool_input"))
            planned = {**event, "tool_input": {**tool_input, **found}}
            call = permission_call(planned, _VIA, takes_edited=True)
            source = {"plan_source": event[FOUND_PLAN]["source"]} if found else {}
            return call._replace(arguments={**call.arguments, **source})
        case {"hook_event_name": "PermissionRequest", "tool_name": str()}:
            return permission_call(event, _VIA, takes_edited=True)
        case {"hook_event_name": "Elicitation", "mode": "url", "url": str() as address}:
            return _elicitation(event, {"mode": "url", "url": address})
        case {"hook_event_name": "Elicitation", "requested_schema": dict() as schema}:
            return _elicitation(event, {"requestedSchema": schema})
        case _:
            return None


def _elicitation(event: Json, asked: Json) -> Call:
    return Call(
        name="elicitation/create",
        arguments={"message": event.get("message"), **asked},
        dialect="elicitation",
        conversation=text_in(event, "session_id"),
        metadata=origin(event, via=_VIA, mcp_server=text_in(event, "mcp_server_name")),
    )


def _found_plan(event: Json) -> Json:
    """The plan that the command hook found, as a member of the tool's input; nothing if Claude Code sent one itself."""
    if has_plan(event):
        return {}
    match event.get(FOUND_PLAN):
        case {"source": "file" | "transcript", "text": str() as text} if text.strip():
            return {"plan": text}
        case _:
            return {}


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
    if not outcome.is_turn_ended:
        return {}
    ended_by = outcome.ask.outcome.ended_by if outcome.ask and outcome.ask.outcome else None
    name = f" by {ended_by.name or ended_by.user_id} on {ended_by.surface}" if ended_by else ""
    return {"continue": False, "stopReason": f"The turn was ended{name}."}


def _answer_elicitation(event: Json, outcome: Outcome) -> Json:
    if (result := outcome.structured) is not None:
        return output(event, result)
    if outcome.is_turn_ended:
        return output(event, {"action": "cancel"})
    if not outcome.was_asked:  # Claude Code asks in its own window
        return {"systemMessage": outcome.description}
    return deny(HOST.name, event, outcome.description)


def _answer_question(event: Json, outcome: Outcome) -> Json:
    if (updated := _updated_input(event, outcome)) is None:
        return deny(HOST.name, event, outcome.description)
    allowed = {"permissionDecision": "allow", "permissionDecisionReason": outcome.description}
    # Its user reads the reason, and Claude the context.
    context = {} if outcome.files is None else {"additionalContext": outcome.files}
    return output(event, {**allowed, "updatedInput": updated, **context})


def _updated_input(event: Json, outcome: Outcome) -> Json | None:
    """The input of AskUserQuestion with people's answers; None if they did not answer."""
    result = outcome.structured
    if not outcome.is_answered or not result:
        return None
    read = {key: result.get(key) for key in ("questions", "answers", "annotations")}
    tool_input = parse_arguments(event.get("tool_input"))
    sent = {key: value for key, value in tool_input.items() if key not in read}
    return {**sent, **{key: value for key, value in read.items() if value is not None}}


def _decide_permission(event: Json, outcome: Outcome) -> Json:
    if event.get("tool_name") == _ASK_TOOL:
        if (updated := _updated_input(event, outcome)) is not None:
            return {"behavior": "allow", "updatedInput": updated}
        why_not: str | None = outcome.description
    else:
        why_not = outcome.denial_reason
    is_plan = event.get("tool_name") == _PLAN_TOOL
    if why_not is None:
        decision: Json = (outcome.structured or {})["hookSpecificOutput"]["decision"]
        # The plan that people saw counts, whatever becomes of its file.
        if is_plan or outcome.edited is not None:
            echo = Echo("tool_input", _found_plan(event), outcome.edited)
            return {**decision, "updatedInput": echo}
        return decision
    if is_plan and why_not == NOT_ALLOWED:
        why_not = _KEEP_PLANNING
    interrupt = {"interrupt": True} if outcome.is_turn_ended else {}
    return {"behavior": "deny", "message": why_not, **interrupt}


def _conversation(event: Json) -> str | None:
    """The session of an event that can add context for Claude itself, rather than for a subagent."""
    is_claude = event.get("agent_id") is None
    return session_of(*CONTEXT_EVENTS)(event) if is_claude else None


def _moved_on(event: Json) -> Callable[[Json], bool] | None:
    """Return a test of Claude's own events that tells if it has gone on without the answer to a permission prompt.

    Claude Code 2.1.332 shows its own window beside the hook, and lets the hook run on if that is answered first.
    """
    if event.get("agent_id") is not None:
        return None
    match event.get("hook_event_name"):
        case "Stop" | "UserPromptSubmit":  # a turn that has ended waits for nothing
            return lambda _asked: True
        case "PostToolUse" | "PostToolUseFailure":
            used = {key: event.get(key) for key in ("tool_name", "tool_input")}
            return lambda asked: {key: asked.get(key) for key in used} == used
        case _:
            return None


HOST: Final = Host("claude", _call, _answer, _conversation, moved_on=_moved_on)
