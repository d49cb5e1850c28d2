"""The walker: tracks a person's position in a form and applies actions to it.

`step` is a pure function of (form, walk, action). It does no I/O, reads no clock and knows no
platform. It returns either a new walk or a refusal, which leaves the old walk unchanged.
`TRANSITIONS` says which function handles which action in which phase.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, NamedTuple, get_args

from pydantic import JsonValue

from answerback.core import confirmation, refusals
from answerback.core.actions import (
    Action,
    Answer,
    Back,
    Confirm,
    Edit,
    EndTurn,
    Next,
    Object,
    Other,
    Reply,
    Submit,
)
from answerback.core.answer_files import refuse_files
from answerback.core.answers import Invalid, check_other, check_text, check_with_note
from answerback.core.confirmation import Vote
from answerback.core.errors import Problem
from answerback.core.files import AttachedFile
from answerback.core.form import Form
from answerback.core.given_answer import GivenAnswer as GivenAnswer
from answerback.core.given_answer import Source as Source
from answerback.core.people import NOBODY_KNOWN, People
from answerback.core.person import Person as Person
from answerback.core.person import StrictDataclass as StrictDataclass
from answerback.core.refusals import Refusal
from answerback.core.typed_text import is_blank
from answerback_base.strict_json import json_equal


class Phase(StrEnum):
    """The stage of a walk."""

    QUESTION = "question"
    REVIEW = "review"
    CONFIRMATION = "confirmation"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    TURN_ENDED = "turn_ended"


OPEN_PHASES: Final = frozenset({Phase.QUESTION, Phase.REVIEW, Phase.CONFIRMATION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk(StrictDataclass):
    """The answers so far (in the form's order) and the current question.

    In a form with a review, Back and Edit discard nothing: ``answers`` may then include an answer to the current
    question and to later ones.
    """

    phase: Phase
    at: int | None = None
    """The 0-based index of the current question, or of the one that was current when the walk ended."""
    answers: tuple[GivenAnswer, ...] = ()
    again: GivenAnswer | None = None
    """The earlier answer to the current question, used as the prefill."""
    kept: tuple[GivenAnswer, ...] = ()
    """With a review: answers to questions that are skipped now, offered again if a question comes back."""
    editing: tuple[GivenAnswer, ...] | None = None
    """During an Edit: the answers as the review showed them; Back restores them."""
    moves_on: bool = False
    """With a review: True if only questions without an answer follow. After Back, every later one is offered again."""
    reply: str | None = None
    reply_files: tuple[AttachedFile, ...] = ()
    """The files that came with the reply."""
    replied_by: Person | None = None
    """Who sent those files."""
    file_ids: tuple[str, ...] = ()
    """The files that any of its answers, also one that is offered again, or the reply names; `step` keeps them."""
    votes: tuple[Vote, ...] = ()
    """Who has confirmed the answers."""
    submitted_by: Person | None = None
    """Who submitted the review of answers that others confirm."""

    @property
    def answerers(self) -> tuple[Person, ...]:
        """The people whose answers these are, and who submitted them."""
        given = [each.by for each in self.answers if each.source is Source.HUMAN]
        return tuple(filter(None, dict.fromkeys((*given, self.submitted_by))))

    @property
    def decided_by(self) -> tuple[Person, ...]:
        """The people who have answered, submitted or confirmed."""
        return (*self.answerers, *(vote.by for vote in self.votes))

    @property
    def open(self) -> bool:
        """True while the walk waits for a person."""
        return self.phase in OPEN_PHASES

    @property
    def values(self) -> dict[str, JsonValue]:
        """The answers by question id, in the form's order, without skipped questions."""
        return {given.question_id: given.value for given in self.answers}

    def answer(self, question_id: str) -> GivenAnswer | None:
        """Return the collected answer to a question, or None."""
        last_first = reversed(self.answers)  # callers usually want the last one
        return next((given for given in last_first if given.question_id == question_id), None)


@dataclass(frozen=True, slots=True)
class Refused:
    """The action is not possible here, and nothing changed. ``problems`` give the reasons."""

    problems: tuple[Problem, ...]


def start(form: Form) -> Walk:
    """Return the walk of a form that nobody has acted on yet."""
    return _advance(form, (), 0)


def resume(form: Form, walk: Walk) -> Walk:
    """Move an open walk to the first question without an answer, keeping all answers: none is asked for again."""
    if not walk.open or not has_review(form):
        return walk
    given = {answer.question_id: answer for answer in walk.answers}
    moved = _advance_to_review(form, replace(walk, at=None, editing=None, moves_on=True), given)
    return replace(moved, file_ids=walk.file_ids)


def has_review(form: Form) -> bool:
    """Return whether the form ends in a review."""
    return form.review and len(form.questions) > 1


def question_index(form: Form, question_id: str) -> int:
    """Return the 0-based index of the question with this id."""
    return next(i for i, question in enumerate(form.questions) if question.id == question_id)


def _open_index(walk: Walk) -> int:
    """Return the 0-based index of the current question of a walk in the phase of questions."""
    if walk.at is None:
        raise AssertionError("a walk without a current question is not in this phase")
    return walk.at


def can_go_back(form: Form, walk: Walk) -> bool:
    """Return whether there is an earlier human answer to go back to, or an Edit to leave."""
    return walk.open and (walk.editing is not None or _previous_answer(form, walk) is not None)


def has_next(form: Form, walk: Walk) -> bool:
    """Return whether there is another question without an answer that can be put before the open one is answered."""
    return walk.phase is Phase.QUESTION and _next_open(form, walk) is not None


def step(
    form: Form,
    walk: Walk,
    action: Action,
    *,
    by: Person | None = None,
    source: Source = Source.HUMAN,
    at: float | None = None,
    people: People = NOBODY_KNOWN,
) -> Walk | Refused:
    """Apply an action and return the new walk, or a refusal.

    Args:
        at: the time to store with an answer.
        people: tells which accounts belong to one person.
    """
    transition = TRANSITIONS[walk.phase][type(action)]
    if isinstance(transition, Refusal):
        return _refuse(transition)
    after = transition(form, walk, action, StepContext(by, source, at, people))
    # Nearly all walks have no files: they must not pay for collecting the ids.
    if not (walk.file_ids or action.files) or isinstance(after, Refused):
        return after
    return _with_file_ids(after)


def _with_file_ids(walk: Walk) -> Walk:
    again = () if walk.again is None else (walk.again,)
    answers = (*walk.answers, *again, *walk.kept, *(walk.editing or ()))
    named = [*(each for given in answers for each in given.files), *walk.reply_files]
    return replace(walk, file_ids=tuple(dict.fromkeys(each.id for each in named)))


class StepContext(NamedTuple):
    """Who gives an answer, and when."""

    by: Person | None
    source: Source
    at: float | None
    people: People


def _answer(form: Form, walk: Walk, action: Answer | Other, context: StepContext) -> Walk | Refused:
    index = _open_index(walk)
    question = form.questions[index]
    remember = isinstance(action, Answer) and action.remember
    if remember and not question.can_be_remembered:
        return _refuse(refusals.CANNOT_BE_REMEMBERED)
    if isinstance(action, Other):
        checked = check_other(question, action.text, action.value)
    else:
        checked = check_with_note(question, action.value, action.note)
    if isinstance(checked, Invalid):
        return Refused(checked.problems)
    if action.files and (
        problem := refuse_files(
            action.files, walk.answers, question, own_words=isinstance(action, Other)
        )
    ):
        return Refused((problem,))
    answer = GivenAnswer(
        question_id=question.id,
        value=checked.value,
        other=checked.own_text,
        source=context.source,
        by=context.by,
        remembered=remember,
        note=checked.note,
        edited=action.edited if isinstance(action, Answer) else None,
        at=context.at,
        files=action.files,
    )
    if not has_review(form):
        return _advance(form, (*walk.answers, answer), index + 1)
    return _advance_to_review(form, walk, {a.question_id: a for a in (*walk.answers, answer)})


def _refuse(refusal: Refusal, *details: str) -> Refused:
    return Refused((refusal.problem(*details),))


def _advance(form: Form, answers: tuple[GivenAnswer, ...], first: int) -> Walk:
    """Advance from the index ``first`` to the next question to ask, or to the end; for a form without a review.

    In such a form all ``answers`` are to questions before that index.
    """
    done = Walk(phase=Phase.ANSWERED, answers=answers)
    for index in range(first, len(form.questions)):
        when = form.questions[index].when
        gate = None if when is None else done.answer(when.question_id)
        # A gate that was itself skipped has no answer, and counts as null.
        if when is None or json_equal(gate.value if gate else None, when.equals):
            return Walk(phase=Phase.QUESTION, at=index, answers=answers)
    return _finish(form, done)


def _finish(form: Form, walk: Walk) -> Walk:
    """Return a walk whose answers are complete: it waits for confirmation first, if the form needs that.

    A No needs no second person.
    """
    if form.confirmation is None:
        return walk
    if form.only_denies(walk.values):
        return walk
    return replace(walk, phase=Phase.CONFIRMATION)


def _advance_to_review(form: Form, walk: Walk, given: Mapping[str, GivenAnswer]) -> Walk:
    """Advance to the next question to ask, or to the review; for a form with a review.

    The next question is the first one without an answer, and one behind the current question comes before those that
    were left for later. After a Back that only moved, it is the next question for a person, answered or not. An answer
    stays until its question is skipped. A question without an answer counts as skipped, so answers that depend on the
    open question stay until it is answered.
    """
    # An Edit returns to the review, so only what has become open by it is asked, from the first question on.
    moved_to = walk.at if walk.editing is None and walk.at is not None else len(form.questions)
    held, asked = _asked(form, given)
    open_indexes = [
        i
        for i in asked
        if (answer := held.get(form.questions[i].id)) is None
        # After Back, people walk through their later answers again. What was filled in for them is not asked.
        or (i > moved_to and not walk.moves_on and answer.source is Source.HUMAN)
    ]
    # Forward from where the person is, so that a review reads in order; what they left for later comes last.
    at = _next_after(moved_to, open_indexes)
    all_answers = (*walk.kept, *(walk.editing or ()), *walk.answers)  # none is forgotten
    kept = {answer.question_id: answer for answer in all_answers if answer.question_id not in held}
    answers = tuple(held.values())
    if at is None:
        return Walk(phase=Phase.REVIEW, answers=answers, kept=tuple(kept.values()))
    question_id = form.questions[at].id
    return Walk(
        phase=Phase.QUESTION,
        at=at,
        answers=answers,
        again=held.get(question_id) or kept.get(question_id),
        # Back from an Edit restores the review: until then, what the Edit skips is not set aside.
        kept=tuple(kept.values()) if walk.editing is None else walk.kept,
        editing=walk.editing,
        moves_on=walk.moves_on or at < moved_to < len(form.questions),
    )


def _asked(
    form: Form, given: Mapping[str, GivenAnswer]
) -> tuple[dict[str, GivenAnswer], list[int]]:
    """Return the answers to questions that are not skipped, and the indexes of those that are certainly asked.

    Whether one is asked is not certain while it depends on a question that has no answer yet.
    """
    held: dict[str, GivenAnswer] = {}
    asked: list[int] = []
    unknown: set[str] = set()
    for i, question in enumerate(form.questions):
        answer, when = given.get(question.id), question.when
        is_certain = when is None or when.question_id not in unknown
        if not is_certain:
            # Questions that depend on this one are then not certain, either.
            unknown.add(question.id)
        if when is not None:
            gate = held.get(when.question_id)  # a skipped question counts as null
            if not json_equal(gate.value if gate else None, when.equals):
                continue
        if is_certain:
            asked.append(i)
        if answer is None:
            unknown.add(question.id)
        else:
            held[question.id] = answer
    return held, asked


def _next_after(index: int, indexes: Sequence[int]) -> int | None:
    """Return the first of these indexes behind another one, else the first of all; None if there is none."""
    behind = (each for each in indexes if each > index)
    return next(behind, indexes[0] if indexes else None)


def _next_open(form: Form, walk: Walk) -> int | None:
    """Return the index of the next question without an answer other than the current one, in a form with a review."""
    if not has_review(form):
        return None
    given = {answer.question_id: answer for answer in walk.answers}
    current = _open_index(walk)
    _, asked = _asked(form, given)
    return _next_after(
        current, [i for i in asked if i != current and form.questions[i].id not in given]
    )


def left_for_later(form: Form, walk: Walk) -> frozenset[int]:
    """Return the indexes of questions that a person left without an answer to move on to later ones."""
    if not has_review(form):
        return frozenset()
    _, asked = _asked(form, {answer.question_id: answer for answer in walk.answers})
    given = {question_index(form, answer.question_id) for answer in walk.answers}
    furthest = max((*given, -1 if walk.at is None else walk.at), default=-1)
    return frozenset(i for i in asked if i <= furthest and i not in given)


def _previous_answer(form: Form, walk: Walk) -> int | None:
    """Return the index of the last human answer before the current question; other answers are just refilled."""
    for index in reversed(range(len(walk.answers))):
        given = walk.answers[index]
        # Remembered and fixed answers are passed over: going back to one would only fill it in again.
        before = walk.at is None or question_index(form, given.question_id) < walk.at
        if before and given.source is Source.HUMAN:
            return index
    return None


def _back(form: Form, walk: Walk, action: Back, context: StepContext) -> Walk | Refused:
    if walk.editing is not None:
        return Walk(phase=Phase.REVIEW, answers=walk.editing, kept=walk.kept)
    index = _previous_answer(form, walk)
    if index is None:
        return _refuse(refusals.NOTHING_TO_GO_BACK_TO)
    previous = walk.answers[index]
    at = question_index(form, previous.question_id)
    if has_review(form):
        # With a review, later answers are kept: everybody sees them once more before they count.
        return replace(walk, phase=Phase.QUESTION, at=at, again=previous, moves_on=False)
    # Without a review, nobody would look again at later answers: they may not fit the new one, and are dropped.
    return Walk(phase=Phase.QUESTION, at=at, answers=walk.answers[:index], again=previous)


def _next(form: Form, walk: Walk, action: Next, context: StepContext) -> Walk | Refused:
    at = _next_open(form, walk)
    if at is None:
        return _refuse(refusals.NOTHING_TO_MOVE_ON_TO)
    question_id = form.questions[at].id
    again = next((each for each in walk.kept if each.question_id == question_id), None)
    return replace(walk, at=at, again=again, moves_on=True)


def _edit(form: Form, walk: Walk, action: Edit, context: StepContext) -> Walk | Refused:
    answer = walk.answer(action.question_id)
    if answer is None or answer.source is not Source.HUMAN:
        editable = ", ".join(f'"{a.question_id}"' for a in walk.answers if a.source is Source.HUMAN)
        return _refuse(refusals.NOT_EDITABLE, editable)
    return replace(
        walk,
        phase=Phase.QUESTION,
        at=question_index(form, action.question_id),
        again=answer,
        editing=walk.answers,
    )


def _submit(form: Form, walk: Walk, action: Submit, context: StepContext) -> Walk:
    return _finish(form, replace(walk, phase=Phase.ANSWERED, submitted_by=context.by))


def _confirm(form: Form, walk: Walk, action: Confirm, context: StepContext) -> Walk | Refused:
    if form.confirmation is None or context.by is None or context.at is None:
        raise AssertionError("only a person confirms, at a time, and only what needs it")
    vote = Vote(by=context.by, at=context.at)
    votes = confirmation.confirm(
        form.confirmation, walk.answerers, walk.votes, vote, context.people
    )
    if isinstance(votes, Refusal):
        return _refuse(votes)
    is_last = len(votes) >= form.confirmation.due
    return replace(walk, votes=votes, phase=Phase.ANSWERED if is_last else walk.phase)


def _object(form: Form, walk: Walk, action: Object | Reply, context: StepContext) -> Walk | Refused:
    ended = _cancel(walk, action, context)
    # This tells it from a Reply in the review.
    return ended if isinstance(ended, Refused) else replace(ended, submitted_by=walk.submitted_by)


def _reopen(form: Form, walk: Walk, action: Back, context: StepContext) -> Walk | Refused:
    by = context.by
    if by is None or not any(context.people.is_same(by, each) for each in walk.answerers):
        return _refuse(refusals.NOT_AN_ANSWERER)
    # Votes are dropped either way: the answers that others have confirmed may change now.
    if has_review(form):
        return Walk(phase=Phase.REVIEW, answers=walk.answers, kept=walk.kept)
    return _back(form, walk, action, context)


def _reply(form: Form, walk: Walk, action: Reply, context: StepContext) -> Walk | Refused:
    if form.reply_needs_text and is_blank(action.text or ""):
        return _refuse(refusals.REPLY_NEEDS_TEXT)
    return _cancel(walk, action, context)


def _cancel(walk: Walk, action: Reply | Object, context: StepContext) -> Walk | Refused:
    text = None if is_blank(action.text or "") else action.text
    if text is not None and isinstance(checked := check_text(text).at("/text"), Invalid):
        return Refused(checked.problems)
    if not action.files:
        return replace(_end(walk, Phase.CANCELLED), reply=text)
    if problem := refuse_files(action.files, walk.answers, None, own_words=True):
        return Refused((problem,))
    ended = _end(walk, Phase.CANCELLED)
    return replace(ended, reply=text, reply_files=action.files, replied_by=context.by)


def _end_turn(form: Form, walk: Walk, action: EndTurn, context: StepContext) -> Walk:
    return _end(walk, Phase.TURN_ENDED)


def _end(walk: Walk, phase: Phase) -> Walk:
    return Walk(phase=phase, at=walk.at, answers=walk.answers)


_Transition = Callable[[Form, Walk, Any, StepContext], Walk | Refused]
_ALWAYS: Final[Mapping[type[Action], _Transition | Refusal]] = {
    Back: _back,
    Reply: _reply,
    EndTurn: _end_turn,
}
_NO_VOTES: Final = dict.fromkeys((Confirm, Object), refusals.NOTHING_TO_CONFIRM)
_NOTHING: Final = dict.fromkeys(get_args(Action), refusals.ENDED)
TRANSITIONS: Final[Mapping[Phase, Mapping[type[Action], _Transition | Refusal]]] = {
    Phase.QUESTION: {
        **_ALWAYS,
        **_NO_VOTES,
        Answer: _answer,
        Other: _answer,
        Next: _next,
        Edit: refusals.NOT_IN_REVIEW,
        Submit: refusals.QUESTION_OPEN,
    },
    Phase.REVIEW: {
        **_ALWAYS,
        **_NO_VOTES,
        Answer: refusals.NO_OPEN_QUESTION,
        Other: refusals.NO_OPEN_QUESTION,
        Next: refusals.NO_OPEN_QUESTION,
        Edit: _edit,
        Submit: _submit,
    },
    Phase.CONFIRMATION: {
        **dict.fromkeys((Answer, Other, Next, Edit, Submit), refusals.CONFIRMATION_DUE),
        Confirm: _confirm,
        Object: _object,
        Reply: _object,
        Back: _reopen,
        EndTurn: _end_turn,
    },
    Phase.ANSWERED: _NOTHING,
    Phase.CANCELLED: _NOTHING,
    Phase.TURN_ENDED: _NOTHING,
}
"""The effect of each action in each phase: the function that handles it, or the reason why it is refused."""
