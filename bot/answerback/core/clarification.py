"""Asking back: a person asks the agent to explain before they answer, and the agent explains. Pure.

Each makes a new revision of the ask, which stays open at its question, and each is in the record. A click on a message
from before an explanation is refused, since the person had not seen the explanation.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import ClassVar, Final

from answerback.core import refusals
from answerback.core.answers import Invalid, check_text
from answerback.core.asides import UNOPENED, Aside
from answerback.core.ask import Ask, Change, RecordEntry
from answerback.core.errors import Problem
from answerback.core.form import MAX_TEXT
from answerback.core.typed_text import is_blank
from answerback.core.walker import Person, Refused

CLARIFY: Final = "clarify"
"""The ``accepts`` value of a submission whose agent can be asked back."""
MAX_QUESTION: Final = 2_000
"""The most characters in a person's question."""
MAX_ASIDES: Final = 10
"""The most questions that people can ask back in one ask, and the most explanations its agent can give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskBack:
    """Ask the agent to explain the open question, without answering it."""

    action: ClassVar[str] = "ask_back"
    text: str


def can_ask_back(ask: Ask) -> bool:
    """Return whether people can ask the agent back now."""
    accepted = CLARIFY in ask.request.accepts
    possible = accepted and _open_question_id(ask) is not None
    return possible and len(questions_asked_back(ask.asides)) < MAX_ASIDES


def questions_asked_back(asides: Collection[Aside]) -> list[Aside]:
    """Return the asides by people, without the agent's explanations."""
    return [aside for aside in asides if aside.by is not None]


def walk_revision(ask: Ask) -> int:
    """Return the number of changes other than asides. Until it changes, what people have begun to enter is kept."""
    return ask.revision - len(ask.asides)


def open_question_revisions(ask: Ask) -> range:
    """Return the revisions since the open question was asked, newest first, as far as the asides show."""
    question_id = _open_question_id(ask)
    count = len([*takewhile(lambda aside: aside.question_id == question_id, reversed(ask.asides))])
    return range(ask.revision, ask.revision - count - 1, -1)


def pending_question(ask: Ask) -> Aside | None:
    """Return the last question asked back, if the ask is open and the agent has not explained anything since."""
    last = ask.asides[-1] if ask.asides and ask.open else None
    return last if last is not None and last.by is not None else None


def apply_ask_back(ask: Ask, action: AskBack, *, at: float, by: Person) -> Change | Refused:
    """Apply asking back to an open ask."""
    question_id = _open_question_id(ask)
    if question_id is None or not can_ask_back(ask):
        return Refused((refusals.CANNOT_ASK_BACK.problem(),))
    checked = check_text(action.text, MAX_QUESTION).at("/text")
    if isinstance(checked, Invalid):
        return Refused(checked.problems)
    aside = Aside(question_id=question_id, text=action.text, at=at, by=by)
    moved = replace(
        ask,
        asides=(*ask.asides, aside),
        revision=ask.revision + 1,
        updated_at=at,
        last_actor=by,
        last_action_revision=ask.revision + 1,
    )
    entry = RecordEntry(
        at=at, kind="clarify", question_id=question_id, by=by, body={"text": action.text}
    )
    return Change(moved, (entry,))


def apply_explanation(ask: Ask, text: str, *, at: float) -> Change | Refused | None:
    """Apply the agent's explanation to an open ask. Return None if that explanation is already there.

    It belongs to the question that a person asked about last, else to the open question. What people typed before they
    could see the explanation does not count as an answer to that question, and what they confirmed has to be confirmed
    again.
    """
    if CLARIFY not in ask.request.accepts:
        return Refused((refusals.TAKES_NO_EXPLANATION.problem(),))
    if is_blank(text):
        return _refused("empty", "The text is blank.")
    checked = check_text(text, MAX_TEXT).at("/text")
    if isinstance(checked, Invalid):
        return Refused(checked.problems)
    last = ask.asides[-1] if ask.asides else None
    if last is not None and last.by is None and last.text == text:
        return None
    if len(ask.asides) - len(questions_asked_back(ask.asides)) >= MAX_ASIDES:
        return _refused("too_many", f"This ask already has {MAX_ASIDES} explanations, the maximum.")
    question_id = (
        last.question_id if last is not None and last.by is not None else _open_question_id(ask)
    )
    if question_id is None:
        return Refused((refusals.NOTHING_TO_EXPLAIN.problem(),))
    moved = replace(
        ask,
        asides=(*ask.asides, Aside(question_id=question_id, text=text, at=at)),
        walk=replace(ask.walk, votes=()),  # people confirmed the answers without knowing this
        revision=ask.revision + 1,
        updated_at=at,
        opening=UNOPENED if question_id == _open_question_id(ask) else ask.opening,
    )
    entry = RecordEntry(at=at, kind="context", question_id=question_id, body={"text": text})
    return Change(moved, (entry,))


def mark_asides_told(ask: Ask, asides: int) -> Ask:
    """Mark the first ``asides`` asides as reported to the agent: no waiting call returns for them again."""
    return replace(
        ask, collection=replace(ask.collection, asides_told=max(asides, ask.collection.asides_told))
    )


def has_untold_question(ask: Ask) -> bool:
    """Return whether a question to the agent has not been reported by a waiting call yet."""
    return pending_question(ask) is not None and ask.collection.asides_told < len(ask.asides)


def _open_question_id(ask: Ask) -> str | None:
    """The question that asides are about: the open one or, while answers wait for confirmation, the first.

    The agent, which reads this, must not learn from it which questions were asked after the first.
    """
    if ask.confirming:
        return ask.form.questions[0].id
    return ask.question.id if ask.question is not None else None


def _refused(code: str, message: str) -> Refused:
    return Refused((Problem(pointer="/text", code=code, message=message),))
