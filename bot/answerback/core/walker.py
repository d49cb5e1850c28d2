"""The walker: where a person is in a form and what the next action does to that.

`step` is a pure function of (form, walk, action). It does no I/O, reads no clock, knows no
platform, and either gives a new walk or refuses and leaves the old one as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Final, assert_never

from pydantic import JsonValue

from answerback.core.answers import Invalid, check_other, check_text, check_with_note, json_equal
from answerback.core.errors import Problem
from answerback.core.form import Form, Question
from answerback.core.person import CachedJson
from answerback.core.person import Person as Person
from answerback.core.person import StrictDataclass as StrictDataclass


class Source(StrEnum):
    """Whose an answer is."""

    HUMAN = "human"
    DEFAULT = "default"
    CONFIG = "config"
    REMEMBERED = "remembered"
    INQUIRY = "inquiry"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer(CachedJson):
    """One collected answer.

    ``other`` marks the text of "Something else…": it is the value, or the last item of a list that holds
    the selected options before it.
    """

    question_id: str
    value: JsonValue
    other: bool = False
    source: Source = Source.HUMAN
    by: Person | None = None
    remembered: bool = False
    """Whether the person asked for it to be reused in this turn."""
    note: str | None = None
    """What the person wrote beside what they chose."""
    at: float | None = None
    """When, in seconds since the epoch; None: it was stored before that was kept."""

    @property
    def words(self) -> str | None:
        """The text of "Something else…"; None where options alone were chosen."""
        last = self.value[-1] if self.other and isinstance(self.value, list) else self.value
        return last if self.other and isinstance(last, str) else None

    @property
    def chosen(self) -> JsonValue:
        """What was answered without the words: the selected options, in option order; None where words are all."""
        if not self.other:
            return self.value
        return self.value[:-1] if isinstance(self.value, list) else None


class Phase(StrEnum):
    """Where the walk is."""

    QUESTION = "question"
    REVIEW = "review"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    TURN_ENDED = "turn_ended"


OPEN_PHASES: Final = frozenset({Phase.QUESTION, Phase.REVIEW})


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk(StrictDataclass):
    """What was answered so far (in the form's order) and what is prompted now.

    In a form that ends in a review, Back and Edit move without discarding: ``answers`` may then hold one to the
    prompted question, and ones to questions after it.
    """

    phase: Phase
    at: int | None = None
    """The 0-based place of the prompted question, or of the one that was prompted when the walk was ended."""
    answers: tuple[GivenAnswer, ...] = ()
    again: GivenAnswer | None = None
    """The earlier answer to the prompted question, for the prompt to start from."""
    kept: tuple[GivenAnswer, ...] = ()
    """With a review: answers to questions that are skipped now, offered again should one be asked after all."""
    editing: tuple[GivenAnswer, ...] | None = None
    """During an Edit: the answers as the review showed them, to which Back returns."""
    reply: str | None = None

    @property
    def open(self) -> bool:
        """Whether the walk still waits for somebody."""
        return self.phase in OPEN_PHASES

    def answer(self, question_id: str) -> GivenAnswer | None:
        """The collected answer to a question, or None."""
        last_first = reversed(self.answers)  # mostly the last one is wanted
        return next((given for given in last_first if given.question_id == question_id), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Answer the prompted question with a value of its type, and a note beside it where the question takes one."""

    action: ClassVar[str] = "answer"
    value: JsonValue
    remember: bool = False
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """Answer with words of one's own; ``value`` holds what is selected beside them in a multiple choice."""

    action: ClassVar[str] = "other"
    text: str
    value: JsonValue = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """Go back to the previous answered question; during an Edit, to the review as it was."""

    action: ClassVar[str] = "back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """In review: answer one question again."""

    action: ClassVar[str] = "edit"
    question_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """In review: hand in the answers."""

    action: ClassVar[str] = "submit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """End the ask with words for the agent, or none, instead of answers."""

    action: ClassVar[str] = "reply"
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTurn:
    """End the ask and the agent's turn."""

    action: ClassVar[str] = "end_turn"


Action = Answer | Other | Back | Edit | Submit | Reply | EndTurn


@dataclass(frozen=True, slots=True)
class Refused:
    """The action does not fit the walk; nothing changed. ``problems`` say why, for a person or a program."""

    problems: tuple[Problem, ...]


def start(form: Form) -> Walk:
    """The walk before anybody acted."""
    return _next(form, (), 0)


def resume(form: Form, walk: Walk) -> Walk:
    """The open walk where it goes on without anybody moving in it: what Back and Edit did not discard counts."""
    if not walk.open or not has_review(form):
        return walk
    given = {answer.question_id: answer for answer in walk.answers}
    return _onwards(form, replace(walk, at=None, editing=None), given)


def current_question(form: Form, walk: Walk) -> Question | None:
    """The question that is prompted now, or None in review and at the end."""
    return None if (place := _prompt(walk)) is None else form.questions[place]


def has_review(form: Form) -> bool:
    """Whether this form ends in a review."""
    return form.review and len(form.questions) > 1


def question_index(form: Form, question_id: str, before: int | None = None) -> int:
    """The 0-based place of the question with this id, which is one of the form's; ``before`` is a place behind it."""
    places = range(len(form.questions) if before is None else before)
    return next(place for place in reversed(places) if form.questions[place].id == question_id)


def _prompt(walk: Walk) -> int | None:
    """The 0-based place of the question that is prompted now, or None in review and at the end."""
    return walk.at if walk.phase is Phase.QUESTION else None


def can_go_back(form: Form, walk: Walk) -> bool:
    """Whether there is an earlier answer of a person's to go back to, or an Edit to leave."""
    return walk.open and (walk.editing is not None or _previous(form, walk) is not None)


def step(
    form: Form,
    walk: Walk,
    action: Action,
    *,
    by: Person | None = None,
    source: Source = Source.HUMAN,
    at: float | None = None,
) -> Walk | Refused:
    """What ``action`` makes of ``walk``: a new walk, or a refusal that leaves it; ``at`` is when, for the answer."""
    if not walk.open:
        return _refuse("unknown_value", "This ask has ended; nothing can be changed any more.")
    match action:
        case Answer() | Other():
            return _answer(form, walk, action, by=by, source=source, at=at)
        case Back():
            return _back(form, walk)
        case Edit():
            return _edit(form, walk, action.question_id)
        case Submit():
            if walk.phase is not Phase.REVIEW:
                return _refuse(
                    "unknown_value", "There is nothing to submit yet: a question is still open."
                )
            return replace(walk, phase=Phase.ANSWERED)
        case Reply():
            return _reply(form, walk, action.text)
        case EndTurn():
            return _end(walk, Phase.TURN_ENDED)
        case _:
            assert_never(action)


def _answer(
    form: Form,
    walk: Walk,
    action: Answer | Other,
    *,
    by: Person | None,
    source: Source,
    at: float | None,
) -> Walk | Refused:
    place = _prompt(walk)
    if place is None:
        return _refuse(
            "unknown_value", "No question is open: submit the answers, or edit one of them."
        )
    question = form.questions[place]
    remember = isinstance(action, Answer) and action.remember
    if remember and not question.can_be_remembered:
        words = "This answer cannot be remembered: the question does not offer it."
        return _refuse("unknown_value", words, "/remember")
    if isinstance(action, Other):
        checked = check_other(question, action.text, action.value)
    else:
        checked = check_with_note(question, action.value, action.note)
    if isinstance(checked, Invalid):
        return Refused(checked.problems)
    given = GivenAnswer(
        question_id=question.id,
        value=checked.value,
        other=isinstance(action, Other),
        source=source,
        by=by,
        remembered=remember,
        note=checked.note,
        at=at,
    )
    if not has_review(form):
        return _next(form, (*walk.answers, given), place + 1)
    return _onwards(form, walk, {each.question_id: each for each in (*walk.answers, given)})


def _next(form: Form, answers: tuple[GivenAnswer, ...], first: int) -> Walk:
    """Walks on from the place ``first`` to the question that is prompted next, or past the last one.

    All ``answers`` are to questions before that place, as they always are in a form without a review.
    """
    done = Walk(phase=Phase.ANSWERED, answers=answers)
    for place in range(first, len(form.questions)):
        when = form.questions[place].when
        gate = None if when is None else done.answer(when.question_id)
        if when is None or json_equal(gate.value if gate else None, when.equals):
            return Walk(phase=Phase.QUESTION, at=place, answers=answers)
    return done


def _onwards(form: Form, walk: Walk, given: Mapping[str, GivenAnswer]) -> Walk:
    """Walks over a form with a review to the question that is prompted next, or past the last one.

    That is the first question without an answer. After a Back that only moved, it is the next one that a person is
    asked, answered or not. An answer stays until its question is skipped. What depends on the open question stays
    while that has no answer: it was skipped until now.
    """
    moved_to = walk.at if walk.editing is None and walk.at is not None else len(form.questions)
    held: dict[str, GivenAnswer] = {}
    at: int | None = None
    for i, question in enumerate(form.questions):
        answer, when = given.get(question.id), question.when
        if when is not None:
            gate = held.get(when.question_id)  # a skipped question counts as null
            if not json_equal(gate.value if gate else None, when.equals):
                continue
        if at is None and (answer is None or (i > moved_to and answer.source is Source.HUMAN)):
            at = i
        if answer is not None:
            held[question.id] = answer
    ever = (*walk.kept, *(walk.editing or ()), *walk.answers)  # none of them is forgotten
    kept = {answer.question_id: answer for answer in ever if answer.question_id not in held}
    answers = tuple(held.values())
    if at is None:
        return Walk(phase=Phase.REVIEW, answers=answers, kept=tuple(kept.values()))
    question_id = form.questions[at].id
    return Walk(
        phase=Phase.QUESTION,
        at=at,
        answers=answers,
        again=held.get(question_id) or kept.get(question_id),
        kept=tuple(kept.values()) if walk.editing is None else walk.kept,
        editing=walk.editing,
    )


def _previous(form: Form, walk: Walk) -> int | None:
    """Where in the answers the last one of a person's before the prompt is; a machine's is only filled in again."""
    prompt = walk.at if has_review(form) else None  # else all answers are before the prompt
    for place in reversed(range(len(walk.answers))):
        given = walk.answers[place]
        before = prompt is None or question_index(form, given.question_id) < prompt
        if before and given.source is Source.HUMAN:
            return place
    return None


def _back(form: Form, walk: Walk) -> Walk | Refused:
    if walk.editing is not None:
        return Walk(phase=Phase.REVIEW, answers=walk.editing, kept=walk.kept)
    place = _previous(form, walk)
    if place is None:
        return _refuse("unknown_value", "There is no earlier answer to go back to.")
    given = walk.answers[place]
    at = question_index(form, given.question_id, before=walk.at)
    if has_review(form):
        return replace(walk, phase=Phase.QUESTION, at=at, again=given)
    return Walk(phase=Phase.QUESTION, at=at, answers=walk.answers[:place], again=given)


def _edit(form: Form, walk: Walk, question_id: str) -> Walk | Refused:
    if walk.phase is not Phase.REVIEW:
        return _refuse("unknown_value", "Answers can be edited in the review only; use Back here.")
    given = walk.answer(question_id)
    if given is None or given.source is not Source.HUMAN:
        editable = ", ".join(f'"{a.question_id}"' for a in walk.answers if a.source is Source.HUMAN)
        return _refuse(
            "unknown_value",
            f"There is no answer of yours to this question; there is: {editable}.",
            "/question_id",
        )
    return replace(
        walk,
        phase=Phase.QUESTION,
        at=question_index(form, question_id),
        again=given,
        editing=walk.answers,
    )


def _reply(form: Form, walk: Walk, text: str | None) -> Walk | Refused:
    words = text if text and text.strip() else None
    if words is None and form.reply_needs_text:
        return _refuse(
            "empty", "A reply needs words here: type what the agent should know.", "/text"
        )
    if words is not None and isinstance(checked := check_text(words).at("/text"), Invalid):
        return Refused(checked.problems)
    return replace(_end(walk, Phase.CANCELLED), reply=words)


def _end(walk: Walk, phase: Phase) -> Walk:
    return Walk(phase=phase, at=walk.at, answers=walk.answers)


def _refuse(code: str, message: str, pointer: str = "/action") -> Refused:
    return Refused((Problem(pointer=pointer, code=code, message=message),))
