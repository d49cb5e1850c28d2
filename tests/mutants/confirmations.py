"""Walks through confirmations, step by step, for any walker: the real one or a mutant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from answerback.core.actions import Answer, Back, Confirm, Edit, EndTurn, Object, Reply, Submit
from answerback.core.confirmation import ConfirmationRule
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question, When
from answerback.core.people import People
from answerback.core.person import Person
from answerback.core.walker import Phase

ANN, BOB, CY = (Person(surface="chat", user_id=name) for name in ("ann", "bob", "cy"))
ANN_ON_THE_WEB: Final = Person(surface="web", user_id="ann")
_PEOPLE: Final = People({"ann": ("chat:ann", "web:ann"), "bob": ("chat:bob",), "cy": ("chat:cy",)})


def _question(name: str) -> Question:
    return Question(id=name, text=f"{name}?", answer_type=AnswerType.BOOLEAN)


_ONE: Final = Form(questions=(_question("a"),), confirmation=ConfirmationRule(due=2))
_ALONE: Final = Form(questions=(_question("a"),))
_REVIEWED: Final = Form(
    questions=(_question("a"), _question("b")), review=True, confirmation=ConfirmationRule(due=1)
)
_GATED: Final = Form(
    questions=(
        _question("a"),
        _question("b").model_copy(update={"when": When(question_id="a", equals=True)}),
    ),
    review=True,
    confirmation=ConfirmationRule(due=1),
)
_WORDY: Final = _ONE.model_copy(update={"reply_needs_text": True})
_PERMISSION: Final = Form(
    questions=(
        Question(
            id="a",
            text="Run it?",
            answer_type=AnswerType.SELECT,
            options=(
                Option(value="yes", label="Yes", kind=OptionKind.ALLOW_ONCE),
                Option(value="no", label="No", kind=OptionKind.DENY),
            ),
        ),
    ),
    confirmation=ConfirmationRule(due=1),
)


def disagreement(walker: Any) -> str | None:
    """Return the first step at which a walker does something else than it should; None if there is none."""
    try:
        for what, got, expected in _steps(walker):
            if got != expected:
                return f"{what}: {got}, expected {expected}"
    except Exception as error:  # noqa: BLE001 a mutant may raise anything
        return repr(error)
    return None


_Step = Callable[..., Any]


def _code(refused: Any) -> str:
    return str(refused.problems[0].code)


def _raises(step: _Step, form: Form, walk: Any, by: Person | None, at: float | None) -> bool:
    try:
        step(form, walk, Confirm(), by, at)
    except AssertionError:
        return True
    return False


def _steps(walker: Any) -> Iterator[tuple[str, object, object]]:
    def step(form: Form, walk: Any, action: Any, by: Person | None, at: float | None = 1.0) -> Any:
        return walker.step(form, walk, action, by=by, at=at, people=_PEOPLE)

    yield from _votes(walker, step)
    yield from _ends(walker, step)
    yield from _reviews(walker, step)


def _votes(walker: Any, step: _Step) -> Iterator[tuple[str, object, object]]:
    yes = Answer(value=True)
    yield "without a rule", step(_ALONE, walker.start(_ALONE), yes, ANN).phase, Phase.ANSWERED
    asked = step(_ONE, walker.start(_ONE), yes, ANN)
    yield "answered", asked.phase, Phase.CONFIRMATION
    yield "own answer", _code(step(_ONE, asked, Confirm(), ANN)), "already_answered"
    yield "other account", _code(step(_ONE, asked, Confirm(), ANN_ON_THE_WEB)), "already_answered"
    once = step(_ONE, asked, Confirm(), BOB, 2.0)
    yield (
        "first vote",
        (once.phase, [(v.by, v.at) for v in once.votes]),
        (Phase.CONFIRMATION, [(BOB, 2.0)]),
    )
    yield "voted twice", _code(step(_ONE, once, Confirm(), BOB)), "already_confirmed"
    twice = step(_ONE, once, Confirm(), CY, 3.0)
    yield "last vote", (twice.phase, [v.by for v in twice.votes]), (Phase.ANSWERED, [BOB, CY])
    for who in (ANN, ANN_ON_THE_WEB):
        back = step(_ONE, once, Back(), who)
        yield "Back", (back.phase, back.at, back.votes), (Phase.QUESTION, 0, ())
    for stranger in (BOB, None):
        yield "others' Back", _code(step(_ONE, once, Back(), stranger)), "not_an_answerer"


def _ends(walker: Any, step: _Step) -> Iterator[tuple[str, object, object]]:
    yes = Answer(value=True)
    asked = step(_ONE, walker.start(_ONE), yes, ANN)
    once = step(_ONE, asked, Confirm(), BOB, 2.0)
    objected = step(_ONE, once, Object(text="no"), CY)
    yield "objection", (objected.phase, objected.reply), (Phase.CANCELLED, "no")
    yield "End Turn", step(_ONE, once, EndTurn(), CY).phase, Phase.TURN_ENDED
    yield "a machine's vote", _raises(step, _ONE, asked, None, 1.0), True
    yield "a vote at no time", _raises(step, _ONE, asked, BOB, None), True
    yield "a vote that nothing needs", _raises(step, _ALONE, asked, BOB, 1.0), True
    for value, phase in (("yes", Phase.CONFIRMATION), ("no", Phase.ANSWERED)):
        walk = step(_PERMISSION, walker.start(_PERMISSION), Answer(value=value), ANN)
        yield value, walk.phase, phase
    for action in (Object(text=None), Reply(text=None)):
        yield "without words", step(_WORDY, asked, action, CY).phase, Phase.CANCELLED


def _reviews(walker: Any, step: _Step) -> Iterator[tuple[str, object, object]]:
    yes = Answer(value=True)
    walk = walker.start(_REVIEWED)
    for _ in range(2):
        walk = step(_REVIEWED, walk, yes, ANN)
    submitted = step(_REVIEWED, walk, Submit(), BOB)
    yield "submitted", (submitted.phase, submitted.submitted_by), (Phase.CONFIRMATION, BOB)
    yield "who submitted", _code(step(_REVIEWED, submitted, Confirm(), BOB)), "already_answered"
    review = step(_REVIEWED, submitted, Back(), BOB)
    yield "to the review", (review.phase, review.answers), (Phase.REVIEW, submitted.answers)
    objected = step(_REVIEWED, submitted, Object(text="no"), CY)
    yield "objection", (objected.phase, objected.submitted_by), (Phase.CANCELLED, BOB)
    yield "unreadable", _code(step(_REVIEWED, submitted, Object(text="\ud800"), CY)), "wrong_type"
    yield "confirmed", step(_REVIEWED, submitted, Confirm(), CY).phase, Phase.ANSWERED
    walk = walker.start(_GATED)
    for action in (yes, yes, Edit(question_id="a"), Answer(value=False), Submit()):
        walk = step(_GATED, walk, action, ANN)
    yield "skipped and kept", [each.question_id for each in walk.kept], ["b"]
    yield "kept in the review", step(_GATED, walk, Back(), ANN).kept, walk.kept
