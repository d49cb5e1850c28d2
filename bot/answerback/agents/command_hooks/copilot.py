"""GitHub Copilot CLI's command hooks.

Shapes: https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-hooks-reference, and what release 1.0.102
sends. Only some events name themselves, so an event is known by its fields.
"""

from __future__ import annotations

from typing import Final

from answerback.agents.command_hooks.agent_host import (
    SERVER,
    Call,
    Host,
    Json,
    Outcome,
    ended_turn,
    fields,
    refusal,
    text,
)

_EVENT: Final = "permissionRequest"


def _call(event: Json) -> Call | None:
    if event.get("hookName") != _EVENT:
        return None
    cwd = text(event, "cwd")
    asked = {
        "toolName": text(event, "toolName") or "?",
        "toolInput": fields(event.get("toolInput")),
    }
    return Call(
        name=_EVENT,
        arguments=asked if cwd is None else {**asked, "cwd": cwd},
        conversation=text(event, "sessionId"),
        is_permission=True,
        cwd=cwd,
    )


def _answer(_event: Json, outcome: Outcome) -> Json:
    why_not = refusal(outcome)
    if why_not is None:
        return {"behavior": "allow"}
    interrupt = {"interrupt": True} if ended_turn(outcome) else {}
    return {"behavior": "deny", "message": why_not, **interrupt}


def _conversation(event: Json) -> str | None:
    """The session of a prompt that somebody submitted."""
    return text(event, "sessionId") if "prompt" in event else None


def _tell(_event: Json, words: str) -> Json:
    return {"additionalContext": words}


def _at_once(event: Json) -> Json | None:
    """Asking people needs no leave of theirs."""
    tool = text(event, "toolName") or ""
    is_ours = event.get("hookName") == _EVENT and tool.startswith(f"{SERVER}/")
    return {"behavior": "allow"} if is_ours else None


HOST: Final = Host(_call, _answer, _conversation, _tell, _at_once)
