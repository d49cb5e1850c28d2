"""Permissions of which nothing is known: the host did not say what would happen. Pure.

People are asked once more before they allow one, by a question that follows the decision.
"""

from __future__ import annotations

from answerback.core import refusals
from answerback.core.actions import Answer
from answerback.core.ask import Ask, Change, apply_action
from answerback.core.people import People
from answerback.core.person import Person
from answerback.core.refusals import Refusal
from answerback.core.walker import Refused


def refuse_unseen(ask: Ask, action: Answer) -> Refusal | None:
    """Return why a program may not pass on an answer: it must say that the person allows it unseen."""
    question = ask.question
    if question is None or action.unseen or not question.allows_unseen(action.value):
        return None
    return refusals.NOTHING_KNOWN


def answer_once_more(
    action: Answer, change: Change, *, at: float, by: Person, people: People
) -> Change | Refused:
    """Answer with a decision also whether it is meant, which the person has said with it."""
    asked = change.ask.question
    if asked is None or not asked.allows_unseen(action.value):
        return change
    following = apply_action(change.ask, Answer(value=action.value), at=at, by=by, people=people)
    if isinstance(following, Refused):
        return following
    return following._replace(entries=(*change.entries, *following.entries))
