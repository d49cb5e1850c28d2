"""Random walks through random forms, on which a walker must behave as the naive model does."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import replace
from types import ModuleType
from typing import Any

from pydantic import JsonValue

from answerback.core.actions import Answer, Back, Edit, EndTurn, Next, Other, Reply, Submit
from answerback.core.ask import current_question
from answerback.core.edited_call import EditedCall
from answerback.core.files import DOWNLOAD, AttachedFile
from answerback.core.form import AnswerType, Form, Option, Persistence, Question, When
from answerback.core.walker import OPEN_PHASES, GivenAnswer, Person, Refused, Source, Walk
from answerback_base.strict_json import json_equal
from answerback_testing.walker_model import NaiveAnswer, NaiveWalk

_OPTIONS = (Option(value="x", label="X"), Option(value="y", label="Y"))
_RIGHT: dict[AnswerType, list[Any]] = {
    AnswerType.BOOLEAN: [True, False],
    AnswerType.TEXT: ["", "text"],
    AnswerType.SELECT: ["x", "y"],
    AnswerType.MULTI_SELECT: [[], ["x"], ["x", "y"]],
}
_WRONG: dict[AnswerType, Any] = {
    AnswerType.BOOLEAN: "true",
    AnswerType.TEXT: 3,
    AnswerType.SELECT: "z",
    AnswerType.MULTI_SELECT: "x",
}
_USUAL = {Answer: 60, Other: 8, Back: 20, Next: 10, Edit: 20, Submit: 6, Reply: 2, EndTurn: 1}
_UNDECIDED = {Answer: 50, Other: 0, Back: 40, Next: 25, Edit: 15, Submit: 2, Reply: 1, EndTurn: 1}
"""The weight of each action: by people who go on, and by those who go back and forth."""
_STEPS = 30
_EDITED = EditedCall(arguments="{}", headline="", context=None, difference="")


def random_form(rng: random.Random) -> Form:
    """Return a form of up to six questions, most of them gated; it may have a review.

    Every other form is one in which much depends on few answers, with a review: there, answers come and go.
    """
    questions: list[Question] = []
    if rng.random() < 0.5:
        for i in range(rng.randint(2, 4)):
            gate = When(question_id="q0", equals=rng.random() < 0.5) if i else None
            questions.append(
                Question(id=f"q{i}", text="?", answer_type=AnswerType.BOOLEAN, when=gate)
            )
        return Form(questions=tuple(questions), review=True)
    for i in range(rng.randint(1, 6)):
        kind = rng.choice(list(_RIGHT))
        chosen = kind in {AnswerType.SELECT, AnswerType.MULTI_SELECT}
        when = None
        if questions and rng.random() < 0.6:
            parent = rng.choice(questions)
            skipped = parent.when is not None and rng.random() < 0.4
            equals = None if skipped else rng.choice(_RIGHT[parent.answer_type])
            when = When(question_id=parent.id, equals=equals)
        questions.append(
            Question(
                id=f"q{i}",
                text="?",
                answer_type=kind,
                options=_OPTIONS if chosen else (),
                other=chosen and rng.random() < 0.5,
                other_beside=kind is AnswerType.MULTI_SELECT and rng.random() < 0.5,
                exclusive=False,
                notes=rng.random() < 0.5,
                when=when,
                persistence=rng.choice(list(Persistence)),
            )
        )
    return Form(
        questions=tuple(questions), review=rng.random() < 0.6, reply_needs_text=rng.random() < 0.5
    )


def disagreement(walker: ModuleType | Any, seed: int, walks: int) -> str | None:
    """Return where a walker and the model first differ on the walks of a seed, or None if they never do."""
    rng = random.Random(seed)
    for number in range(walks):
        form = random_form(rng)
        try:
            trouble = _Comparison(walker, form).run(rng)
        except Exception as error:  # noqa: BLE001  a mutant may fail in any way
            trouble = f"failed: {error!r}"
        if trouble:
            return f"walk {number} of seed {seed}, {form!r}: {trouble}"
    return None


class _Comparison:
    """One walk of the walker, and of the model beside it."""

    def __init__(self, walker: ModuleType | Any, form: Form) -> None:
        self._walker = walker
        self._form = form
        self._walk: Walk = walker.start(form)
        self._model = NaiveWalk(form)
        self._kinds = _USUAL
        self._reviewed: Walk | None = None
        """The review in which the last Edit began."""
        self._sent: list[AttachedFile] = []
        """All files so far, also those of actions that were refused."""
        self._replied: tuple[tuple[AttachedFile, ...], Person | None] = ((), None)
        """The files of the reply, and whose they are."""

    def run(self, rng: random.Random) -> str | None:
        """Apply random actions to both; return the first difference."""
        self._kinds = rng.choice([_USUAL, _UNDECIDED])
        if trouble := self._difference():
            return f"at the start: {trouble}"
        for at in range(_STEPS):
            action = self._action(rng)
            if trouble := self._step(action, rng, float(at)) or self._difference():
                return f"after {action}: {trouble}"
        return None

    def _step(self, action: Any, rng: random.Random, at: float) -> str | None:
        """Apply an action to both; return how the outcomes differ."""
        source = rng.choice([Source.HUMAN] * 3 + list(Source))
        by = Person(surface="web", user_id=f"u{rng.randint(1, 3)}")
        expected = self._predict(action, source, by, at)
        before = self._walk
        after = self._walker.step(self._form, before, action, source=source, by=by, at=at)
        if isinstance(after, Refused):
            problem = after.problems[0]
            if problem.code != expected:
                return f"refused as {problem.code}, expected {expected}"
            is_told = expected != "not_editable" or self._editable() in problem.message
            return None if is_told else f"refused with {problem.message}"
        self._walk = after
        if expected is not None:
            return f"accepted, expected {expected}"
        if isinstance(action, Reply | EndTurn) and after.at != before.at:
            return f"moved to {after.at}"
        if isinstance(action, Edit):
            self._reviewed = before
        if isinstance(action, Back) and before.editing and after != self._reviewed:
            return f"left {after}, not {self._reviewed}"
        return None

    def _action(self, rng: random.Random) -> Any:
        (kind,) = rng.choices(list(self._kinds), list(self._kinds.values()))
        question = self._model.current() or self._form.questions[0]
        value = rng.choice(_RIGHT[question.answer_type])
        if kind is Answer:
            value = _WRONG[question.answer_type] if rng.random() < 0.05 else value
            note = rng.choice([None, None, None, "note"])
            remember = rng.random() < 0.2
            return Answer(
                value=value,
                remember=remember,
                note=note,
                edited=_EDITED if remember else None,
                files=self._files(rng),
            )
        if kind is Other:
            ticked = value if question.answer_type is AnswerType.MULTI_SELECT else None
            text = rng.choice(["mine", "mine", "  "])
            return Other(text=text, value=ticked, files=self._files(rng))
        if kind is Edit:
            return Edit(question_id=rng.choice([*(q.id for q in self._form.questions), "none"]))
        if kind is Reply:
            said = rng.choice([None, " ", "text", "\ud800"])
            return Reply(text=said, files=self._files(rng))
        return kind()

    def _files(self, rng: random.Random) -> tuple[AttachedFile, ...]:
        """Return the files of an action: mostly none, now and then a new one, or one that was sent before."""
        if rng.random() < 0.7:
            return ()
        name = f"f{len(self._sent)}"
        file = AttachedFile(id=name, name=name, media_type=DOWNLOAD, bytes=1, sha256="")
        self._sent.append(file)
        return (rng.choice(self._sent),) if rng.random() < 0.3 else (file,)

    def _predict(self, action: Any, source: Source, by: Person, at: float) -> str | None:
        """Apply an action to the model; return the code of the refusal if it is not possible."""
        if self._model.phase() not in OPEN_PHASES:
            return "ended"
        match action:
            case Answer() | Other():
                return self._predict_answer(action, source, by, at)
            case Back() | Next() | Edit():
                return self._predict_move(action)
            case Submit():
                if self._model.phase() != "review":
                    return "question_open"
                self._model.end("answered")
                return None
            case Reply():
                return self._predict_reply(action, by)
            case _:
                self._model.end("turn_ended")
                return None

    def _predict_move(self, action: Back | Next | Edit) -> str | None:
        match action:
            case Back():
                return None if self._model.back() else "nothing_to_go_back_to"
            case Next() if self._model.phase() == "review":
                return "no_open_question"
            case Next():
                return None if self._model.next() else "nothing_to_move_on_to"
            case _ if self._model.phase() != "review":
                return "not_in_review"
            case _:
                return None if self._model.edit(action.question_id) else "not_editable"

    def _predict_reply(self, action: Reply, by: Person) -> str | None:
        text = action.text
        if not (text or "").strip() and self._form.reply_needs_text:
            return "reply_needs_text"
        if text == "\ud800":
            return "wrong_type"
        if self._is_sent_with(action.files, self._model.given):
            return "file_sent_twice"
        self._replied = (action.files, by if action.files else None)
        self._model.end("cancelled", text if text and text.strip() else None)
        return None

    def _is_sent_with(self, files: tuple[AttachedFile, ...], answered: Iterable[str]) -> bool:
        """Return True if the answer to any of these questions has one of these files."""
        given = (self._model.given[i] for i in answered)
        return any(file in answer.details[-1] for answer in given for file in files)

    def _editable(self) -> str:
        by_people = [i for i, answer in self._in_order() if answer.by_person]
        return f"these have one: {', '.join(map(json.dumps, by_people))}."

    def _in_order(self) -> list[tuple[str, NaiveAnswer]]:
        """Return the model's answers in the form's order."""
        given = self._model.given
        return [(q.id, given[q.id]) for q in self._form.questions if q.id in given]

    def _predict_answer(
        self, action: Answer | Other, source: Source, by: Person, at: float
    ) -> str | None:
        question = self._model.current()
        if question is None:
            return "no_open_question"
        remember = isinstance(action, Answer) and action.remember
        if remember and not question.can_be_remembered:
            return "cannot_be_remembered"
        note = action.note if isinstance(action, Answer) else None
        if refused := _wrong(question, action):
            return refused
        others = [i for i in self._model.given if i != question.id]
        takes_files = isinstance(action, Other) or question.notes or question.answer_type == "text"
        if action.files and not takes_files:
            return "takes_no_files"
        if self._is_sent_with(action.files, others):
            return "file_sent_twice"
        value = action.value if isinstance(action, Answer) else _own_text(question, action)
        edited = action.edited if isinstance(action, Answer) else None
        own = isinstance(action, Other)
        details = (source, by, at, remember, note, own, edited, action.files)
        self._model.answer(value, source is Source.HUMAN, details)
        return None

    def _difference(self) -> str | None:
        """Return how the walk differs from the model's."""
        walk, model = self._walk, self._model
        if walk.phase != model.phase():
            return f"the phase is {walk.phase}, expected {model.phase()}"
        asked = current_question(self._form, walk)
        expected = model.current()
        if (asked and asked.id) != (expected and expected.id):
            return f"{asked} is asked, expected {expected}"
        if walk.reply != model.reply:
            return f"the reply is {walk.reply!r}"
        if (walk.reply_files, walk.replied_by) != self._replied:
            return f"{walk.reply_files} by {walk.replied_by} came with the reply, expected {self._replied}"
        named = [file.id for answer in _kept(walk) for file in answer.files]
        if {*walk.file_ids} != {*named, *(file.id for file in walk.reply_files)}:
            return f"{walk.file_ids} are its files, expected {named}"
        if self._walker.can_go_back(self._form, walk) != model.can_go_back():
            return f"Back is possible: {model.can_go_back()} expected"
        if self._walker.has_next(self._form, walk) != (model.next_open() is not None):
            return f"Next is possible: {model.next_open()} expected"
        left = self._walker.left_for_later(self._form, walk)
        if [self._form.questions[i].id for i in sorted(left)] != model.left():
            return f"{left} were left for later, expected {model.left()}"
        if expected is not None and not _same(walk.again, model.again):
            return f"{walk.again} is filled in, expected {model.again}"
        return _other_answers(walk, self._in_order()) or self._difference_once_resumed()

    def _difference_once_resumed(self) -> str | None:
        """Return how resuming, as at a deadline, differs from forgetting what Back and Edit moved to."""
        resumed = self._walker.resume(self._form, self._walk)
        model = replace(self._model)
        if self._model.phase() in OPEN_PHASES:
            model.looking_at = model.review = None
            model.moves_on = False
        expected = model.current()
        asked = current_question(self._form, resumed)
        if resumed.phase != model.phase() or (asked and asked.id) != (expected and expected.id):
            return f"resumed, it is {resumed}, expected {expected}"
        if resumed.editing is not None:
            return "resumed, it still edits"
        if resumed.file_ids != self._walk.file_ids:
            return f"resumed, {resumed.file_ids} are its files"
        return _other_answers(resumed, self._in_order()) or self._asked_again(resumed)

    def _asked_again(self, walk: Walk) -> str | None:
        """Return which question with an answer a deadline's defaults would be taken for, too."""
        for question in self._form.questions:
            asked = current_question(self._form, walk)
            if asked is None:
                break
            if walk.answer(asked.id) is not None:
                return f"resumed, {asked.id} is asked again before {question.id}"
            action = Answer(value=_RIGHT[asked.answer_type][0])
            walk = self._walker.step(self._form, walk, action, source=Source.DEFAULT)
        return None


def _kept(walk: Walk) -> list[GivenAnswer]:
    """Return the answers that a walk has, and those that it may come back to."""
    again = [walk.again] if walk.again else []
    return [*walk.answers, *again, *walk.kept, *(walk.editing or [])]


def _other_answers(walk: Walk, expected: list[tuple[str, NaiveAnswer]]) -> str | None:
    same = len(walk.answers) == len(expected) and all(
        answer.question_id == question_id and _same(answer, should)
        for answer, (question_id, should) in zip(walk.answers, expected, strict=True)
    )
    return None if same else f"{walk.answers} are the answers, expected {expected}"


def _wrong(question: Question, action: Answer | Other) -> str | None:
    """Return the code of the refusal if an action's value is no answer to the question."""
    if isinstance(action, Answer):
        if action.value == _WRONG[question.answer_type]:
            return "unknown_value" if question.answer_type is AnswerType.SELECT else "wrong_type"
        return "takes_no_note" if action.note and not question.notes else None
    if not question.other:
        return "takes_no_other_text"
    return None if action.text.strip() else "empty"


def _own_text(question: Question, action: Other) -> JsonValue:
    beside = question.other_beside and question.answer_type is AnswerType.MULTI_SELECT
    ticked = action.value if isinstance(action.value, list) else []
    return [*ticked, action.text] if beside else action.text


def _same(answer: GivenAnswer | None, expected: NaiveAnswer | None) -> bool:
    if answer is None or expected is None:
        return answer is None and expected is None
    details = (
        answer.source,
        answer.by,
        answer.at,
        answer.remembered,
        answer.note,
        answer.other,
        answer.edited,
        answer.files,
    )
    return details == expected.details and json_equal(answer.value, expected.value)
