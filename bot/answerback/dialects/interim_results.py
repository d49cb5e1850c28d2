"""What a model is told at once of an ask for which nothing waits: that the answer comes late."""

from __future__ import annotations

import json
from typing import Final, Literal

from pydantic import JsonValue

from answerback.core.ask import Ask, ToolResult
from answerback.dialects import codex

_ACCEPTED: Final[dict[str, JsonValue]] = {"accepted": True}


def default_mode(dialect: str, name: str) -> Literal["wait", "async"]:
    """How a call is meant whose submission does not say so."""
    return "async" if dialect == "codex" and name == codex.ASYNC else "wait"


def render_interim_result(ask: Ask) -> ToolResult | None:
    """The tool result until there is an answer; None where the call is waited for, or the ask has ended."""
    request = ask.request
    if not ask.open or request.mode != "async":
        return None
    if default_mode(request.dialect, request.name) == "async":  # the tool promises this answer
        return ToolResult(content=json.dumps(_ACCEPTED), structured=_ACCEPTED)
    words = (
        f"The question was put to people and stays open ({ask.id}). Nobody waits for it: do not assume an answer, and "
        "go on with what does not depend on it. The answer comes later, as a message or by the tool check_answers."
    )
    structured: JsonValue = {"status": "pending", "ask_id": ask.id, "message": words}
    return ToolResult(content=words, structured=structured)
