"""Codex's hooks.

Shapes: the schemas of hooks in Codex 0.169.0. A PreToolUse hook can block a call but not give it a result, so the
answer is in the message of the block. A PermissionRequest hook may only allow or deny; anything else is an error.
"""

from __future__ import annotations

from typing import Final

from answerback.agents.hooks.host import (
    Call,
    Host,
    Json,
    Outcome,
    context_session,
    denial_reason,
    describe_outcome,
    first_text,
    origin,
    question_call,
    tell_model,
)
from answerback.agents.pipe.denials import deny, output

_CONTEXT_EVENTS: Final = frozenset({"UserPromptSubmit", "SessionStart", "PostToolUse"})


def _call(event: Json) -> Call | None:
    match event:
        case {"hook_event_name": "PermissionRequest", "tool_name": str()}:
            asked = {
                key: event[key] for key in ("tool_name", "tool_input", "cwd") if event.get(key)
            }
            return Call(
                name="PermissionRequest",
                arguments=asked,
                dialect="approval",
                conversation=first_text(event, "session_id"),
                turn=first_text(event, "turn_id"),
                is_permission=True,
                metadata=origin(event),
            )
        case _:
            return question_call(event, "request_user_input", "codex")


def _answer(event: Json, outcome: Outcome) -> Json:
    is_question = event["hook_event_name"] == "PreToolUse"
    why_not = describe_outcome(outcome) if is_question else denial_reason(outcome)
    if why_not is None:
        return output(event, {"decision": {"behavior": "allow"}})
    return deny(HOST.name, event, why_not)


def _conversation(event: Json) -> str | None:
    return context_session(event, _CONTEXT_EVENTS)


HOST: Final = Host("codex", _call, _answer, _conversation, tell_model)
