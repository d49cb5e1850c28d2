"""Helpers shared by the dialects' results: JSON as text, collected answers, and failures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Reason, Status, ToolResult
from answerback.core.form import Question
from answerback.core.secrecy import is_unconfirmed
from answerback.core.walker import GivenAnswer, Source

_REMARKS: Final = {
    Source.DEFAULT: "default: nobody answered in time",
    Source.CONFIG: "set by the operator",
    Source.INQUIRY: "answered by a program",
}

CANCEL_MARKER: Final = "cancelled"
"""The field that marks a result as cancelled; in a result with a key per question, no question may have this id."""


def json_result(structured: JsonValue) -> ToolResult:
    """Return a result whose text is its JSON."""
    return ToolResult(content=json.dumps(structured, ensure_ascii=False), structured=structured)


def unless_failed(render: Callable[[Ask], ToolResult]) -> Callable[[Ask], ToolResult]:
    """Return a renderer of ended asks whose result for one that has failed is an error."""
    return lambda ask: failure_result(ask) if ask.status is Status.FAILED else render(ask)


def source_remark(given: GivenAnswer) -> str | None:
    """Return whose answer this is, if not a person's: a host's words for answers claim that its user gave them."""
    return _REMARKS.get(given.source)


def chosen_values(given: GivenAnswer) -> list[JsonValue]:
    """Return the options that were chosen, as a list."""
    chosen = given.chosen
    return chosen if isinstance(chosen, list) else [] if chosen is None else [chosen]


def answer_values(given: GivenAnswer) -> list[JsonValue]:
    """Return the chosen values and free text of an answer as a list, without blank ones."""
    values = given.value if isinstance(given.value, list) else [given.value]
    return [value for value in values if str(value).strip()]


def values_by_question(
    ask: Ask,
    open_values: Sequence[JsonValue] = (),
    values: Callable[[GivenAnswer], list[JsonValue]] = answer_values,
) -> Iterator[tuple[Question, list[JsonValue]]]:
    """Yield each question with a list of the values of its answer.

    Args:
        open_values: the values for the question that was open when the ask ended.
        values: returns the values of an answer.
    """
    for i, question in enumerate(ask.form.questions):
        given = ask.walk.answer(question.id)
        still_open = [*open_values] if i == ask.walk.at else []
        yield question, values(given) if given is not None else still_open


def rows(ask: Ask, *, replied: bool = False) -> list[tuple[Question, list[JsonValue]]]:
    """Return each question with its answer as a list; for the open one, this is the reply if ``replied``."""
    reply = [ask.walk.reply] if replied and ask.walk.reply is not None else []
    return [*values_by_question(ask, reply)]


def joined(values: list[JsonValue]) -> str:
    return ", ".join(map(str, values))


def remarked(ask: Ask, text: str) -> str:
    """Return a text that says which answers no person gave, since the hosts' words claim that their user did."""
    remarks = {remark for each in ask.walk.answers if (remark := source_remark(each))}
    return f"{text} ({'; '.join(sorted(remarks))})" if remarks else text


def text_result(text: str) -> ToolResult:
    """Return a result that is a text, for people's answers as the host itself would tell its model."""
    return ToolResult(content=text, structured=text)


def unanswered_text(ask: Ask) -> str:
    """Return the text to use in place of an answer if nobody answered or the reply has no text."""
    reason = end_reason(ask)
    return "[cancelled by user]" if reason is None else f"[no answer: {reason.replace('_', ' ')}]"


def said(ask: Ask) -> str:
    """Return what is told in place of an answer: the reply, or else how the ask ended; both if it was not confirmed."""
    if is_unconfirmed(ask):
        return append_reply(ask, unanswered_text(ask))
    return ask.walk.reply or unanswered_text(ask)


def append_reply(ask: Ask, text: str) -> str:
    """Append the reply, if any, to a text for the model, on a new line."""
    return f"{text}\n{ask.walk.reply}" if ask.walk.reply else text


def reason_field(ask: Ask) -> dict[str, JsonValue]:
    """Return the ``reason`` field if there is an `end_reason`, else no field."""
    reason = end_reason(ask)
    return {} if reason is None else {"reason": reason}


def end_reason(ask: Ask) -> str | None:
    """Return ``not_confirmed``, ``expired`` or ``withdrawn`` if the ask ended that way, else None."""
    if is_unconfirmed(ask):
        return Reason.NOT_CONFIRMED.value
    return ask.status.value if ask.status in {Status.EXPIRED, Status.WITHDRAWN} else None


def cancelled_fields(ask: Ask) -> dict[str, JsonValue]:
    """Return the ask_user family's result for an ask that ended without answers."""
    structured: dict[str, JsonValue] = {CANCEL_MARKER: True, "answered": ask.walk.values}
    return {**structured, **reply_and_reason_fields(ask)}


def reply_and_reason_fields(ask: Ask) -> dict[str, JsonValue]:
    reply: dict[str, JsonValue] = {} if ask.walk.reply is None else {"reply": ask.walk.reply}
    return reply | reason_field(ask)


def failure_result(ask: Ask) -> ToolResult:
    """Return an error result that tells the model what happened and not to retry."""
    outcome = ask.outcome
    message = outcome.message if outcome and outcome.message else "The question could not be asked."
    reason = outcome.reason.value if outcome and outcome.reason else "backend_error"
    structured: JsonValue = {"error": {"reason": reason, "message": message}}
    return ToolResult(content=message, structured=structured, is_error=True)
