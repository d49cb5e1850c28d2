"""GitHub Copilot CLI's hooks.

Shapes: https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-hooks-reference, and what release 1.0.102
sends. Only some events contain their name, so an event is recognised by its fields.
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
    text_in,
)
from answerback_agents.pipe.host_answers import deny

_EVENT: Final = "permissionRequest"


def _call(event: Json) -> Call | None:
    if event.get("hookName") != _EVENT:
        return None
    cwd = text_in(event, "cwd")
    asked = {
        "toolName": text_in(event, "toolName") or "?",
        "toolInput": parse_arguments(event.get("toolInput")),
    }
    return Call(
        name=_EVENT,
        arguments=asked if cwd is None else {**asked, "cwd": cwd},
        dialect="approval",
        conversation=text_in(event, "sessionId"),
        is_permission=True,
        metadata=origin(event),
    )


def _answer(event: Json, outcome: Outcome) -> Json:
    why_not = outcome.denial_reason
    if why_not is None:
        return {"behavior": "allow"}
    interrupt = {"interrupt": True} if outcome.is_turn_ended else {}
    return {**deny(HOST.name, event, why_not), **interrupt}


def _answer_at_once(event: Json) -> Json | None:
    """Allow our own MCP tools: asking people needs no permission from them."""
    tool = text_in(event, "toolName") or ""
    is_ours = event.get("hookName") == _EVENT and tool.startswith(f"{MCP_SERVER_NAME}/")
    return {"behavior": "allow"} if is_ours else None


HOST: Final = Host(
    name="copilot",
    call=_call,
    answer=_answer,
    conversation=lambda event: text_in(event, "sessionId") if "prompt" in event else None,
    tell_model=lambda _event, text: {"additionalContext": text},
    immediate_answer=_answer_at_once,
)
