"""GitHub Copilot CLI's hooks.

Shapes: https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-hooks-reference, and what release 1.0.102
sends. Only some events contain their name, so an event is recognised by its fields.
"""

from __future__ import annotations

from typing import Final

from answerback.agents.hooks.host import (
    MCP_SERVER_NAME,
    Call,
    Host,
    Json,
    Outcome,
    denial_reason,
    first_text,
    is_turn_ended,
    origin,
    parse_arguments,
)
from answerback.agents.pipe.denials import deny

_EVENT: Final = "permissionRequest"


def _call(event: Json) -> Call | None:
    if event.get("hookName") != _EVENT:
        return None
    cwd = first_text(event, "cwd")
    asked = {
        "toolName": first_text(event, "toolName") or "?",
        "toolInput": parse_arguments(event.get("toolInput")),
    }
    return Call(
        name=_EVENT,
        arguments=asked if cwd is None else {**asked, "cwd": cwd},
        dialect="approval",
        conversation=first_text(event, "sessionId"),
        is_permission=True,
        metadata=origin(event),
    )


def _answer(event: Json, outcome: Outcome) -> Json:
    why_not = denial_reason(outcome)
    if why_not is None:
        return {"behavior": "allow"}
    interrupt = {"interrupt": True} if is_turn_ended(outcome) else {}
    return {**deny(HOST.name, event, why_not), **interrupt}


def _conversation(event: Json) -> str | None:
    """The session of an event for a submitted prompt."""
    return first_text(event, "sessionId") if "prompt" in event else None


def _tell_model(_event: Json, text: str) -> Json:
    return {"additionalContext": text}


def _answer_at_once(event: Json) -> Json | None:
    """Allow our own MCP tools: asking people needs no permission from them."""
    tool = first_text(event, "toolName") or ""
    is_ours = event.get("hookName") == _EVENT and tool.startswith(f"{MCP_SERVER_NAME}/")
    return {"behavior": "allow"} if is_ours else None


HOST: Final = Host("copilot", _call, _answer, _conversation, _tell_model, _answer_at_once)
