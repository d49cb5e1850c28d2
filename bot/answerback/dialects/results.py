"""What the dialects' results have in common: JSON as text, what was collected, and failures in words."""

from __future__ import annotations

import json

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult


def as_json(structured: JsonValue) -> ToolResult:
    """A result whose text is its JSON."""
    return ToolResult(content=json.dumps(structured, ensure_ascii=False), structured=structured)


def collected(ask: Ask) -> dict[str, JsonValue]:
    """What was answered, by question id, in the form's order; skipped questions are not in it."""
    return {given.question_id: given.value for given in ask.walk.answers}


def reason_of(ask: Ask) -> str | None:
    """``expired`` or ``withdrawn`` where that is how the ask ended."""
    status = ask.status
    return status.value if status in {Status.EXPIRED, Status.WITHDRAWN} else None


def cancelled(ask: Ask) -> dict[str, JsonValue]:
    """The ask_user family's result without the answers that were wanted."""
    structured: dict[str, JsonValue] = {"cancelled": True, "answered": collected(ask)}
    return {**structured, **extras(ask)}


def extras(ask: Ask) -> dict[str, JsonValue]:
    """``reply`` where words were given, ``reason`` where it was not a person who ended the ask."""
    found: dict[str, JsonValue] = {}
    if ask.walk.reply is not None:
        found["reply"] = ask.walk.reply
    if (reason := reason_of(ask)) is not None:
        found["reason"] = reason
    return found


def failed(ask: Ask) -> ToolResult:
    """A failure: the words tell the model what happened and not to try again."""
    outcome = ask.outcome
    message = outcome.message if outcome and outcome.message else "The question could not be asked."
    reason = outcome.reason.value if outcome and outcome.reason else "backend_error"
    structured: JsonValue = {"error": {"reason": reason, "message": message}}
    return ToolResult(content=message, structured=structured, is_error=True)
