"""The interim result of an asynchronous ask, which tells the model that the answer will come later."""

from __future__ import annotations

import json
from typing import Final, Literal

from pydantic import JsonValue

from answerback.core.ask import Ask, ToolResult
from answerback.dialects import codex

_ACCEPTED: Final[dict[str, JsonValue]] = {"accepted": True}


def default_mode(dialect: str, name: str) -> Literal["wait", "async"]:
    """Return the mode of a call whose submission does not give one."""
    return "async" if dialect == "codex" and name == codex.ASYNC else "wait"


def render_interim_result(ask: Ask) -> ToolResult | None:
    """Render the tool result until there is an answer; None if the agent waits, or the ask has ended."""
    request = ask.request
    if not ask.open or request.mode != "async":
        return None
    if default_mode(request.dialect, request.name) == "async":  # the result that the tool promises
        return ToolResult(content=json.dumps(_ACCEPTED), structured=_ACCEPTED)
    message = (
        f"People were asked, and the question stays open ({ask.id}). Do not wait and do not assume an answer: continue "
        "with what does not depend on it. The answer comes later, as a message or from the tool check_answers."
    )
    structured: JsonValue = {"status": "pending", "ask_id": ask.id, "message": message}
    return ToolResult(content=message, structured=structured)
