"""Codex's asynchronous tool: its questions, and the message that brings their answers later."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import Question
from answerback.core.walker import GivenAnswer
from answerback.dialects import choice_forms, results
from answerback.dialects.call_reader import ArgumentNode

TOOL: Final = "request_user_input_async"


def read_question(node: ArgumentNode, question_id: str) -> Question | None:
    text = node.text("title")
    options = choice_forms.read_plain_options(node, "options", required=False)
    if text is None:
        return None
    question = choice_forms.choice_question(question_id, text, options, notes=True)
    return question.with_default(options[0].value) if options else question


def note_texts(text: str | None) -> list[JsonValue]:
    """Return a person's own text as Codex marks it."""
    return [] if text is None else [f"user_note: {text}"]


def values_and_note(given: GivenAnswer) -> list[JsonValue]:
    return [*results.answer_values(given), *note_texts(given.note)]


def render_message(ask: Ask) -> ToolResult:
    """Render the user message that follows an asynchronous call, whose own result just said "accepted"."""
    rows = [*results.values_by_question(ask, values=values_and_note)]
    answers: list[JsonValue] = [row for _, row in rows]
    structured: dict[str, JsonValue] = {"accepted": True, "answers": answers}
    if ask.status is not Status.ANSWERED:
        structured = {**structured, "cancelled": True, **results.reply_and_reason_fields(ask)}
        return ToolResult(
            content=results.append_reply(ask, results.unanswered_text(ask)), structured=structured
        )
    paragraphs = [
        "\n".join([question.text, *map(str, row or ["(no answer)"])]) for question, row in rows
    ]
    return ToolResult(content="\n\n".join(paragraphs), structured=structured)
