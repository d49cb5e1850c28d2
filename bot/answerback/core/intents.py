"""What people want of an ask, as a control or typed words say it, and the action that this is on the ask as it stands.

A control names an option or an answer by its place: that is short, and nothing has to be remembered for it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from answerback.core import typed_answers
from answerback.core.ask import Ask
from answerback.core.clarification import AskBack
from answerback.core.errors import Problem
from answerback.core.form import AnswerType, Question
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.core.walker import Action, Answer, Edit, Person


@dataclass(frozen=True, slots=True)
class Choose:
    """Answer with options of the open question, by their 0-based places; None: nothing was chosen.

    A question without options is answered with what its prompt starts from.
    """

    action: ClassVar[str] = "answer"
    places: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class EditAt:
    """In review: answer one question again, by the 0-based place of its answer; None: a place that cannot be read."""

    action: ClassVar[str] = "edit"
    place: int | None


@dataclass(frozen=True, slots=True)
class TypedText:
    """Answer with words that were typed for the ask, whatever its open question makes of them."""

    action: ClassVar[str] = "typed"
    text: str


UnresolvedAction = Choose | EditAt | TypedText
RequestedAction = Action | AskBack | UnresolvedAction


class Intent(NamedTuple):
    """What somebody wants of an ask: which one, at which revision, and what."""

    ask_id: str
    wanted: RequestedAction | None
    """None: nothing, but to learn whether this person may act on this revision."""
    revision: int | None = None
    """The revision that they saw; None: whichever it is."""
    delivery: str | None = None
    """The platform's id of this delivery: the same one again counts once."""
    at: float | None = None
    """When, by the platform's clock."""
    surface: str | None = None
    """The surface that the ask has to be shown on; None: any."""
    digest: str = ""
    """Of what is delivered, where the delivery's id is a caller's own: the same id with another one is a mistake."""


class Unclear(NamedTuple):
    """What is wanted is no action on the ask as it stands."""

    problem: Problem
    early: bool = False
    """Whether it may have been meant for an earlier question."""


def resolve_action(
    wanted: UnresolvedAction, ask: Ask, at: float | None, person: Person, labels: Labels
) -> Action | Unclear:
    """The action that is wanted on an open ask, or why it is none, in words for the person.

    Args:
        at: when they acted, by the platform's clock.
    """
    if isinstance(wanted, TypedText):
        if (early := typed_answers.check_not_too_early(ask, at, person, labels)) is not None:
            return _unclear(early.sentence, "/text", early=True)
        action = typed_answers.parse_typed_answer(ask, wanted.text, labels)
        if isinstance(action, typed_answers.UnclearText):
            return _unclear(action.sentence, "/text")
        return action
    if isinstance(wanted, EditAt):
        lines = view_of(ask).lines
        if wanted.place is None or wanted.place >= len(lines):
            return _unclear(labels.not_found, "/question_id")
        return Edit(question_id=lines[wanted.place].question.id)
    question = ask.question
    if question is None:
        return _unclear(labels.not_found, "/action")
    if not question.options:
        prompt = view_of(ask).prompt
        return Answer(value=prompt.prefill if prompt else None)
    return _chosen(question, wanted.places, labels)


def _chosen(question: Question, places: tuple[int, ...] | None, labels: Labels) -> Answer | Unclear:
    options = question.options
    values = [options[place].value for place in places or () if place < len(options)]
    if question.answer_type is AnswerType.MULTI_SELECT and places is not None:
        return Answer(value=list(values))
    if question.answer_type is not AnswerType.MULTI_SELECT and len(values) == 1:
        return Answer(value=values[0])
    return _unclear(labels.choose_first.format(submit=labels.submit), "/value")


def _unclear(message: str, pointer: str, *, early: bool = False) -> Unclear:
    return Unclear(Problem(pointer=pointer, code="unknown_value", message=message), early)
