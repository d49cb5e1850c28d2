"""What the dialects' results have in common: JSON as text, what was collected, and failures in words."""

from __future__ import annotations

import json
from collections.abc import Callable

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.walker import GivenAnswer


def json_result(structured: JsonValue) -> ToolResult:
    """A result whose text is its JSON."""
    return ToolResult(content=json.dumps(structured, ensure_ascii=False), structured=structured)


def answers_by_id(ask: Ask) -> dict[str, JsonValue]:
    """What was answered, by question id, in the form's order; skipped questions are not in it."""
    return {given.question_id: given.value for given in ask.walk.answers}


def answer_values(given: GivenAnswer) -> list[JsonValue]:
    """What was chosen and written, each on its own; nothing where that is blank."""
    found = given.value if isinstance(given.value, list) else [given.value]
    return [row for row in found if str(row).strip()]


def answer_values_per_question(
    ask: Ask, instead: list[JsonValue], of: Callable[[GivenAnswer], list[JsonValue]] = answer_values
) -> list[list[JsonValue]]:
    """A list for each question of what was answered.

    Args:
        instead: the list of the question that was open in the end.
        of: the list of an answer.
    """
    found: list[list[JsonValue]] = []
    for i, question in enumerate(ask.form.questions):
        given = ask.walk.answer(question.id)
        still_open = [*instead] if i == ask.walk.at else []
        found.append(of(given) if given is not None else still_open)
    return found


def unanswered_text(ask: Ask) -> str:
    """What stands for an answer where a person replied without words, or nobody answered."""
    why = end_reason(ask)
    return "[cancelled by user]" if why is None else f"[no answer: {why}]"


def append_reply(ask: Ask, words: str) -> str:
    """Words for the model, and those of the reply on the next line."""
    return f"{words}\n{ask.walk.reply}" if ask.walk.reply else words


def reason_field(ask: Ask) -> dict[str, JsonValue]:
    """What an object gets where it was not a person who ended the ask."""
    found = end_reason(ask)
    return {} if found is None else {"reason": found}


def end_reason(ask: Ask) -> str | None:
    """``expired`` or ``withdrawn`` where that is how the ask ended."""
    status = ask.status
    return status.value if status in {Status.EXPIRED, Status.WITHDRAWN} else None


def cancelled_fields(ask: Ask) -> dict[str, JsonValue]:
    """The ask_user family's result without the answers that were wanted."""
    structured: dict[str, JsonValue] = {"cancelled": True, "answered": answers_by_id(ask)}
    return {**structured, **reply_and_reason_fields(ask)}


def reply_and_reason_fields(ask: Ask) -> dict[str, JsonValue]:
    """``reply`` where words were given, ``reason_field`` where it was not a person who ended the ask."""
    said: dict[str, JsonValue] = {} if ask.walk.reply is None else {"reply": ask.walk.reply}
    return said | reason_field(ask)


def failure_result(ask: Ask) -> ToolResult:
    """A failure: the words tell the model what happened and not to try again."""
    outcome = ask.outcome
    message = outcome.message if outcome and outcome.message else "The question could not be asked."
    why = outcome.reason.value if outcome and outcome.reason else "backend_error"
    structured: JsonValue = {"error": {"reason": why, "message": message}}
    return ToolResult(content=message, structured=structured, is_error=True)
