"""Gemini CLI's command hooks.

Shapes: https://geminicli.com/docs/hooks/reference. A BeforeTool hook can block a call but not give it a result, so the
answer to ask_user is in the message of the block. A hook cannot allow what Gemini CLI itself would ask about.
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

_ASK_TOOL: Final = "ask_user"
_CONVERSATION_TOOLS: Final = frozenset({"ask_user", "ask_user_question", "check_answers"})
"""Our tools that take the id of a conversation."""
_CONTEXT_EVENTS: Final = frozenset({"BeforeAgent", "AfterTool", "SessionStart"})


def _call(event: Json) -> Call | None:
    if event.get("hook_event_name") != "BeforeTool":
        return None
    tool = first_text(event, "tool_name") or "?"
    arguments = parse_arguments(event.get("tool_input"))
    asks = tool == _ASK_TOOL
    return Call(
        name=_ASK_TOOL if asks else "permissionRequest",
        arguments=arguments
        if asks
        else {"toolName": tool, "toolInput": arguments, "cwd": event.get("cwd")},
        conversation=first_text(event, "session_id"),
        dialect="gemini" if asks else None,
        is_permission=not asks,
        cwd=first_text(event, "cwd"),
    )


def _answer(event: Json, outcome: AskOutcome) -> Json:
    if is_turn_ended(outcome):
        return {"continue": False, "stopReason": "The user ended the turn."}
    why_not = (
        describe_outcome(outcome) if event.get("tool_name") == _ASK_TOOL else denial_reason(outcome)
    )
    return {} if why_not is None else {"decision": "deny", "reason": why_not}


def _conversation(event: Json) -> str | None:
    return (
        first_text(event, "session_id") if event.get("hook_event_name") in _CONTEXT_EVENTS else None
    )


def _build_context(event: Json, words: str) -> Json:
    output = {"hookEventName": event["hook_event_name"], "additionalContext": words}
    return {"hookSpecificOutput": output}


def _answer_at_once(event: Json) -> Json | None:
    """Add the session to calls of our MCP tools, so that late answers find it: Gemini CLI itself does not send it."""
    if event.get("hook_event_name") != "BeforeTool":
        return None
    if parse_arguments(event.get("mcp_context")).get("server_name") != MCP_SERVER_NAME:
        return None
    session = first_text(event, "session_id")
    arguments = parse_arguments(event.get("tool_input"))
    if (
        parse_arguments(event["mcp_context"]).get("tool_name") not in _CONVERSATION_TOOLS
        or session is None
    ):
        return {}
    return {
        "hookSpecificOutput": {
            "hookEventName": "BeforeTool",
            "tool_input": {"conversation": session, **arguments},
        }
    }


HOST: Final = Host(_call, _answer, _conversation, _build_context, _answer_at_once)
