"""Gemini CLI's hooks.

Shapes: https://geminicli.com/docs/hooks/reference. A BeforeTool hook can block a call but not give it a result, so the
answer to ask_user is in the message of the block. A hook cannot allow what Gemini CLI itself would ask about.
"""

from __future__ import annotations

from typing import Final

from answerback.hooks.host import (
    MCP_SERVER_NAME,
    Call,
    Host,
    Json,
    Outcome,
    origin,
    parse_arguments,
    session_of,
    text_in,
)
from answerback_agents.pipe.host_answers import deny, output

_ASK_TOOL: Final = "ask_user"
_ALLOWED: Final[Json] = {"decision": "allow"}
"""Not `{}`, which any program on the service's port could say."""
_CONVERSATION_TOOLS: Final = frozenset({"ask_user", "ask_user_question", "check_answers"})
"""Our tools that take the id of a conversation."""


def _call(event: Json) -> Call | None:
    if event.get("hook_event_name") != "BeforeTool":
        return None
    tool = text_in(event, "tool_name") or "?"
    arguments = parse_arguments(event.get("tool_input"))
    asks = tool == _ASK_TOOL
    return Call(
        name=_ASK_TOOL if asks else "permissionRequest",
        arguments=arguments
        if asks
        else {
            "toolName": _tool_of_server(event) or tool,
            "toolInput": arguments,
            "cwd": event.get("cwd"),
        },
        conversation=text_in(event, "session_id"),
        dialect="gemini" if asks else "approval",
        is_permission=not asks,
        metadata=origin(event),
    )


def _tool_of_server(event: Json) -> str | None:
    """The tool of an MCP server that an event is about, as ``server/tool``; None if it is about another tool."""
    context = parse_arguments(event.get("mcp_context"))
    server, tool = text_in(context, "server_name"), text_in(context, "tool_name")
    return f"{server}/{tool}" if server and tool else None


def _answer(event: Json, outcome: Outcome) -> Json:
    if outcome.is_turn_ended:
        return {"continue": False, "stopReason": "The user ended the turn."}
    asks = event.get("tool_name") == _ASK_TOOL
    why_not = outcome.description if asks else outcome.denial_reason
    return _ALLOWED if why_not is None else deny(HOST.name, event, why_not)


def _answer_at_once(event: Json) -> Json | None:
    """Add the session to calls of our MCP tools, so that late answers find it: Gemini CLI itself does not send it."""
    if event.get("hook_event_name") != "BeforeTool":
        return None
    context = parse_arguments(event.get("mcp_context"))
    if context.get("server_name") != MCP_SERVER_NAME:
        return None
    session = text_in(event, "session_id")
    arguments = parse_arguments(event.get("tool_input"))
    if text_in(context, "tool_name") not in _CONVERSATION_TOOLS or session is None:
        return _ALLOWED
    return _ALLOWED | output(event, {"tool_input": {"conversation": session, **arguments}})


HOST: Final = Host(
    name="gemini",
    call=_call,
    answer=_answer,
    conversation=session_of("BeforeAgent", "AfterTool", "SessionStart"),
    immediate_answer=_answer_at_once,
)
