"""Gemini CLI's command hooks.

Shapes: https://geminicli.com/docs/hooks/reference. A BeforeTool hook can block a call and give it no result, so the
answer to ask_user is in the words of the block; it cannot allow what Gemini CLI itself would ask about.
"""

from __future__ import annotations

from typing import Final

from answerback.agents.command_hooks.agent_host import (
    MCP_SERVER_NAME,
    AskOutcome,
    Call,
    Host,
    Json,
    denial_reason,
    describe_outcome,
    first_text,
    is_turn_ended,
    parse_arguments,
)

_ASKING: Final = "ask_user"
_IN_CONVERSATION: Final = frozenset({"ask_user", "ask_user_question", "check_answers"})
"""Our tools that take the name of a conversation."""
_TAKE_CONTEXT: Final = frozenset({"BeforeAgent", "AfterTool", "SessionStart"})


def _call(event: Json) -> Call | None:
    if event.get("hook_event_name") != "BeforeTool":
        return None
    tool, given = first_text(event, "tool_name") or "?", parse_arguments(event.get("tool_input"))
    asks = tool == _ASKING
    return Call(
        name=_ASKING if asks else "permissionRequest",
        arguments=given
        if asks
        else {"toolName": tool, "toolInput": given, "cwd": event.get("cwd")},
        conversation=first_text(event, "session_id"),
        dialect="gemini" if asks else None,
        is_permission=not asks,
        cwd=first_text(event, "cwd"),
    )


def _answer(event: Json, outcome: AskOutcome) -> Json:
    if is_turn_ended(outcome):
        return {"continue": False, "stopReason": "The user ended the turn."}
    why_not = (
        describe_outcome(outcome) if event.get("tool_name") == _ASKING else denial_reason(outcome)
    )
    return {} if why_not is None else {"decision": "deny", "reason": why_not}


def _conversation(event: Json) -> str | None:
    return (
        first_text(event, "session_id") if event.get("hook_event_name") in _TAKE_CONTEXT else None
    )


def _tell(event: Json, words: str) -> Json:
    output = {"hookEventName": event["hook_event_name"], "additionalContext": words}
    return {"hookSpecificOutput": output}


def _at_once(event: Json) -> Json | None:
    """Our MCP tools are told the session, which Gemini CLI itself does not tell them: so that an answer that comes
    late finds it."""
    if event.get("hook_event_name") != "BeforeTool":
        return None
    if parse_arguments(event.get("mcp_context")).get("server_name") != MCP_SERVER_NAME:
        return None
    given, session = parse_arguments(event.get("tool_input")), first_text(event, "session_id")
    if (
        parse_arguments(event["mcp_context"]).get("tool_name") not in _IN_CONVERSATION
        or session is None
    ):
        return {}
    return {
        "hookSpecificOutput": {
            "hookEventName": "BeforeTool",
            "tool_input": {"conversation": session, **given},
        }
    }


HOST: Final = Host(_call, _answer, _conversation, _tell, _at_once)
