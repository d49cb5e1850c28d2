"""The walker: where a person is in a form and what the next action does to that.

`step` is a pure function of (form, walk, action). It does no I/O, reads no clock, knows no
platform, and either gives a new walk or refuses and leaves the old one as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Final, assert_never

from pydantic import ConfigDict, JsonValue

from bot.answers import Unfit, check_answer, check_other, json_equal
from bot.errors import Problem
from bot.form import AnswerType, Form, Persistence, Question


class Exact:
    """What is stored as JSON: no key is read that is not known.

    Dataclasses, checked where they are read (`storage.rows`) and not where they are made: every
    step makes new ones, out of values that were checked when they came in.
    """

    __slots__ = ()
    __pydantic_config__ = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Person(Exact):
    """Somebody who acted: where, the platform's id, and the name people know them by."""

    surface: str
    user_id: str
    name: str | None = None


class Source(StrEnum):
    """Whose an answer is."""

    HUMAN = "human"
    DEFAULT = "default"
    CONFIG = "config"
    REMEMBERED = "remembered"
    INQUIRY = "inquiry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given(Exact):
    """One collected answer. ``other`` marks the text of "Something else…"."""

    question_id: str
    value: JsonValue
    other: bool = False
    source: Source = Source.HUMAN
    by: Person | None = None
    remembered: bool = False
    """Whether the person asked for it to be reused in this turn."""


class Phase(StrEnum):
    """Where the walk is."""

    QUESTION = "question"
    REVIEW = "review"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    TURN_ENDED = "turn_ended"


OPEN_PHASES: Final = frozenset({Phase.QUESTION, Phase.REVIEW})


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk(Exact):
    """What was answered so far (in the form's order) and what is prompted now."""

    phase: Phase
    at: int | None = None
    """The 0-based place of the prompted question, or of the one that was prompted when the walk was ended."""
    answers: tuple[Given, ...] = ()
    again: Given | None = None
    """The answer that Back or Edit took off, for the prompt to start from."""
    reply: str | None = None

    @property
    def open(self) -> bool:
        """Whether the walk still waits for somebody."""
        return self.phase in OPEN_PHASES

    def answer(self, question_id: str) -> Given | None:
        """The collected answer to a question, or None."""
        for given in self.answers:
            if given.question_id == question_id:
                return given
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Answer the prompted question with a value of its type."""

    action: ClassVar[str] = "answer"
    value: JsonValue
    remember: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """Answer with words of one's own instead of an option."""

    action: ClassVar[str] = "other"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """Go back to the previous answered question."""

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
    return _onwards(form, ())


def prompted(form: Form, walk: Walk) -> Question | None:
    """The question that is prompted now, or None in review and at the end."""
    return form.questions[walk.at] if walk.phase is Phase.QUESTION and walk.at is not None else None


def can_go_back(form: Form, walk: Walk) -> bool:
    """Whether there is an earlier answer of a person's to go back to."""
    return walk.open and _previous(form, walk) is not None


def step(
    form: Form,
    walk: Walk,
    action: Action,
    *,
    by: Person | None = None,
    source: Source = Source.HUMAN,
) -> Walk | Refused:
    """What ``action`` makes of ``walk``: a new walk, or a refusal that leaves it as it was."""
    if not walk.open:
        return _refuse("unknown_value", "This ask has ended; nothing can be changed any more.")
    match action:
        case Answer() | Other():
            return _answer(form, walk, action, by, source)
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
    form: Form, walk: Walk, action: Answer | Other, by: Person | None, source: Source
) -> Walk | Refused:
    question = prompted(form, walk)
    if question is None:
        return _refuse(
            "unknown_value", "No question is open: submit the answers, or edit one of them."
        )
    remember = isinstance(action, Answer) and action.remember
    if remember and not offers_remembering(question):
        return _refuse(
            "unknown_value",
            "This answer cannot be remembered: the question does not offer it.",
            "/remember",
        )
    if isinstance(action, Other):
        if not question.other:
            return _refuse(
                "unknown_value", "This question takes one of its options only, no other text."
            )
        checked, where = check_other(action.text), "/text"
    else:
        checked, where = check_answer(question, action.value), "/value"
    if isinstance(checked, Unfit):
        return Refused(
            tuple(p.model_copy(update={"pointer": where + p.pointer}) for p in checked.problems)
        )
    given = Given(
        question_id=question.id,
        value=checked.value,
        other=isinstance(action, Other),
        source=source,
        by=by,
        remembered=remember,
    )
    return _onwards(form, (*walk.answers, given))


def offers_remembering(question: Question) -> bool:
    """Whether the plain two buttons get a "for this turn" twin each."""
    return question.persistence is Persistence.TURN and question.answer_type is AnswerType.BOOLEAN


def _onwards(form: Form, answers: tuple[Given, ...]) -> Walk:
    """Walks forward from the first question over what is answered to the first that is not."""
    given = {answer.question_id: answer for answer in answers}
    kept: dict[str, Given] = {}
    for i, question in enumerate(form.questions):
        when = question.when
        if when is not None and not _equals(kept.get(when.question_id), when.equals):
            continue
        answer = given.get(question.id)
        if answer is None:
            # Answers to later questions stay only after an Edit, which took off those that depend on it.
            later = [given[q.id] for q in form.questions[i + 1 :] if q.id in given]
            return Walk(phase=Phase.QUESTION, at=i, answers=(*kept.values(), *later))
        kept[question.id] = answer
    return Walk(
        phase=Phase.REVIEW if form.reviewed else Phase.ANSWERED, answers=tuple(kept.values())
    )


def _equals(given: Given | None, value: JsonValue) -> bool:
    """Whether an answer is this value; a skipped question counts as null."""
    return json_equal(given.value if given else None, value)


def _previous(form: Form, walk: Walk) -> Given | None:
    """The last answer of a person's before the prompt; a machine's answer would only be filled in again."""
    for given in reversed(walk.answers):
        before = walk.at is None or form.index(given.question_id) < walk.at
        if before and given.source is Source.HUMAN:
            return given
    return None


def _back(form: Form, walk: Walk) -> Walk | Refused:
    given = _previous(form, walk)
    if given is None:
        return _refuse("unknown_value", "There is no earlier answer to go back to.")
    return _reopen(
        form, walk, given, {q.id for q in form.questions[: form.index(given.question_id)]}
    )


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
    gone = {question_id}
    for question in form.questions:
        if question.when is not None and question.when.question_id in gone:
            gone.add(question.id)
    return _reopen(form, walk, given, {q.id for q in form.questions} - gone)


def _reopen(form: Form, walk: Walk, given: Given, keep: set[str]) -> Walk:
    return Walk(
        phase=Phase.QUESTION,
        at=form.index(given.question_id),
        answers=tuple(a for a in walk.answers if a.question_id in keep),
        again=given,
    )


def _reply(form: Form, walk: Walk, text: str | None) -> Walk | Refused:
    words = text if text and text.strip() else None
    if words is None and form.reply_needs_text:
        return _refuse(
            "empty", "A reply needs words here: type what the agent should know.", "/text"
        )
    if words is not None and isinstance(checked := check_other(words), Unfit):
        return Refused(tuple(p.model_copy(update={"pointer": "/text"}) for p in checked.problems))
    return replace(_end(walk, Phase.CANCELLED), reply=words)


def _end(walk: Walk, phase: Phase) -> Walk:
    return Walk(phase=phase, at=walk.at, answers=walk.answers)


def _refuse(code: str, message: str, pointer: str = "/action") -> Refused:
    return Refused((Problem(pointer=pointer, code=code, message=message),))
