"""Codex's hooks.

Shapes: the schemas of hooks in Codex 0.169.0. A PreToolUse hook can block a call but not give it a result, so the
answer is in the message of the block. A PermissionRequest hook may only allow or deny; anything else is an error.
"""

from __future__ import annotations

from typing import Final

from answerback.hooks.host import (
    Call,
    Host,
    Json,
    Outcome,
    permission_call,
    question_call,
    session_of,
)
from answerback_agents.pipe.host_answers import deny, output


def _call(event: Json) -> Call | None:
    match event:
        case {"hook_event_name": "PermissionRequest", "tool_name": str()}:
            return permission_call(event)
        case _:
            return question_call(event, "request_user_input", "codex")


def _answer(event: Json, outcome: Outcome) -> Json:
    is_question = event["hook_event_name"] == "PreToolUse"
    why_not = outcome.description if is_question else outcome.denial_reason
    if why_not is None:
        return output(event, {"decision": {"behavior": "allow"}})
    return deny(HOST.name, event, why_not)


HOST: Final = Host(
    "codex", _call, _answer, session_of("UserPromptSubmit", "SessionStart", "PostToolUse")
)
