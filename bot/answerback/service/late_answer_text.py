"""Describe a late answer to a model that has gone on without it. Pure."""

from __future__ import annotations

from typing import Final, cast

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, headline_of
from answerback.core.labels import ENGLISH
from answerback.core.secrecy import is_unconfirmed, readable_files, without_unconfirmed
from answerback.core.view import answer_lines, view_of
from answerback.core.walker import Source
from answerback.dialects import registry
from answerback.dialects.owed_note import owed_note
from answerback.service.ask_wire import JsonObject, ask_json
from answerback_base.file_text import describe_file, place_in_service
from answerback_base.note_text import describe_note
from answerback_base.retry_text import describe_retry

_BY_PEOPLE: Final = {Source.HUMAN, Source.GRANT}
_MAX_QUESTION_CHARS: Final = 200
"""Characters of a question that are enough to remind a model of it."""


def describe_late_answer(ask: Ask) -> str:
    """Say what a person answered, and to which question, or that no person did; or what they want tried again."""
    if ask.retry_request is not None:
        return describe_retry(headline_of(ask.form), ask.retry_request.text)
    if (note := owed_note(ask)) is not None:
        return describe_note(headline_of(ask.form), note)
    ask = without_unconfirmed(ask)
    asked = f"{_questions(ask)} (asked earlier with {ask.request.name}, {ask.id})"
    if ask.status is Status.TURN_ENDED:
        return f"The user was asked {asked} and ended the turn. Stop, and wait for the user."
    if ask.status is Status.ANSWERED and ask.outcome and ask.outcome.source not in _BY_PEOPLE:
        return f"No person answered {asked}, but a deadline or a machine:\n{_answer(ask)}"
    if is_unconfirmed(ask):
        return f"There is no answer to {asked}, because the answers were not confirmed:\n{_answer(ask)}"
    if ask.status not in {Status.ANSWERED, Status.CANCELLED}:
        return f"There is no answer to {asked}:\n{_answer(ask)}"
    return f"The answer to {asked}:\n{_answer(ask)}"


def with_files(ask: Ask, text: str) -> str:
    """Add to a text for the model a line about each file that people sent, as far as its agent may read it now."""
    if not ask.walk.file_ids:
        return text
    sent = [each.file for each in readable_files(ask)]
    lines = (describe_file(each.name, place_in_service(each.id)) for each in sent)
    return "\n".join([text, *lines])


def late_answer_json(ask: Ask) -> dict[str, JsonValue]:
    """The ask as JSON, with its description as ``message``; or what a person has told the agent to try again."""
    body = ask_json(ask)
    if (again := body["tried_again"]) is not None:
        retry = cast("JsonObject", again)
        return {"kind": "retry", "ask_id": ask.id, "headline": body["headline"], **retry}
    return {"kind": "outcome", **body, "message": with_files(ask, describe_late_answer(ask))}


def _questions(ask: Ask) -> str:
    first, *more = ask.form.questions
    text = (
        first.text
        if len(first.text) <= _MAX_QUESTION_CHARS
        else f"{first.text[:_MAX_QUESTION_CHARS]}…"
    )
    return f'"{text}"' + (f" and {len(more)} more" if more else "")


def _answer(ask: Ask) -> str:
    result = registry.render_result(ask)
    if result is None:
        raise AssertionError("an ask that ended otherwise than by End Turn has a result")
    answered = [line for line in view_of(ask).lines if line.given is not None]
    if ask.request.dialect != "approval" or not answered:
        return result.content
    # An answer to a host's prompt is meant for the host; a model reads the decision.
    return "\n".join(
        text
        for line in answered
        if line.given
        for text in answer_lines(line.question, line.given, ENGLISH)
    )
