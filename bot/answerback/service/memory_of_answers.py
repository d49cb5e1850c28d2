"""Answers that are reused for the rest of an agent's turn."""

from __future__ import annotations

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.ports.store_values import RememberedAnswer


def answer_to_remember(ask: Ask, action: Answer) -> RememberedAnswer:
    """Return what is stored so that the rest of the turn reuses an answer."""
    request, question = ask.request, ask.question
    if question is None or request.conversation is None or request.turn is None:
        raise AssertionError(f"{ask.id}: an answer is remembered only in a turn that has a name")
    return RememberedAnswer(
        request.agent or "",
        request.conversation,
        request.turn,
        ask.form.tool or "",
        ask.form.digest_of(question),
        action.value,
    )
