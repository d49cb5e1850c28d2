"""Cursor's hooks.

Shapes: https://cursor.com/docs/agent/hooks, read in November 2026. An MCP tool's arguments come as JSON in a text. Its
program for the terminal, cursor-agent, heeds a denial, but still asks in its own window about what a hook has allowed.
"""

from __future__ import annotations

from typing import Final

from answerback.hooks.host import Call, Host, Json, Outcome, origin, parse_arguments, text_in
from answerback_agents.pipe.host_answers import deny
from answerback_hosts.cursor.answers import DECIDED

_ASKED: Final = ("command", "cwd", "sandbox", "tool_name", "url")
"""The fields of an event that people see, besides the arguments of an MCP tool: ``command`` may also start its
server."""


def _call(event: Json) -> Call | None:
    name = event.get("hook_event_name")
    if name not in DECIDED:
        return None
    asked = {key: event[key] for key in _ASKED if event.get(key) is not None}
    if name == "beforeMCPExecution":
        asked["tool_input"] = parse_arguments(event.get("tool_input"))
    roots = event.get("workspace_roots")
    folder = text_in(event, "cwd") or (roots[0] if isinstance(roots, list) and roots else None)
    return Call(
        name=f"cursor/{name}",
        arguments=asked,
        dialect="approval",
        conversation=text_in(event, "conversation_id"),
        turn=text_in(event, "generation_id"),
        is_permission=True,
        metadata=origin({**event, "cwd": folder}),
    )


def _answer(event: Json, outcome: Outcome) -> Json:
    why_not = outcome.denial_reason
    return {"permission": "allow"} if why_not is None else deny(HOST.name, event, why_not)


def _conversation(event: Json) -> str | None:
    """The conversation at the end of a turn, which can go on with a message."""
    is_stop = event.get("hook_event_name") == "stop"
    return text_in(event, "conversation_id") if is_stop else None


HOST: Final = Host(
    name="cursor",
    call=_call,
    answer=_answer,
    conversation=_conversation,
    tell_model=lambda _event, text: {"followup_message": text},
)
