"""The walker, cell by cell: every phase and every action, and the rules that deserve a name."""

from __future__ import annotations

from typing import Any

import pytest

from bot import walker
from bot.form import AnswerType, Form, Option, Persistence, Question, When
from bot.walker import (
    Answer,
    Back,
    Edit,
    EndTurn,
    Given,
    Other,
    Phase,
    Refused,
    Reply,
    Source,
    Submit,
    Walk,
)

OPTIONS = (Option(value="x", label="Ex"), Option(value="y", label="Why"))


def question(
    question_id: str = "a", kind: AnswerType = AnswerType.BOOLEAN, **more: Any
) -> Question:
    options = OPTIONS if kind in {AnswerType.SELECT, AnswerType.MULTI_SELECT} else ()
    return Question(
        **{"id": question_id, "text": "?", "answer_type": kind, "options": options, **more}
    )


def walked(form: Form, *actions: walker.Action) -> Walk:
    walk = walker.start(form)
    for action in actions:
        moved = walker.step(form, walk, action)
        assert isinstance(moved, Walk), moved
        walk = moved
    return walk


TWO = Form(questions=(question("a"), question("b")), review=True)
PHASES = {
    "first question": walked(TWO),
    "second question": walked(TWO, Answer(value=True)),
    "review": walked(TWO, Answer(value=True), Answer(value=False)),
    "edit in review": walked(TWO, Answer(value=True), Answer(value=False), Edit(question_id="b")),
    "answered": walked(TWO, Answer(value=True), Answer(value=False), Submit()),
    "cancelled": walked(TWO, Reply(text="no")),
    "turn ended": walked(TWO, EndTurn()),
}
ACTIONS: dict[str, walker.Action] = {
    "answer": Answer(value=True),
    "other": Other(text="mine"),
    "back": Back(),
    "edit": Edit(question_id="a"),
    "submit": Submit(),
    "reply": Reply(),
    "end turn": EndTurn(),
}
TABLE = {
    "first question": {"answer": "question b", "reply": "cancelled", "end turn": "turn_ended"},
    "second question": {
        "answer": "review",
        "back": "question a",
        "reply": "cancelled",
        "end turn": "turn_ended",
    },
    "review": {
        "back": "question b",
        "edit": "question a",
        "submit": "answered",
        "reply": "cancelled",
        "end turn": "turn_ended",
    },
    "edit in review": {
        "answer": "review",
        "back": "question a",
        "reply": "cancelled",
        "end turn": "turn_ended",
    },
    "answered": {},
    "cancelled": {},
    "turn ended": {},
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("phase", PHASES)
def test_every_phase_takes_the_actions_of_the_table_and_refuses_the_others(
    phase: str, action: str
) -> None:
    moved = walker.step(TWO, PHASES[phase], ACTIONS[action])
    expected = TABLE[phase].get(action)
    if expected is None:
        assert isinstance(moved, Refused)
        assert all(problem.message for problem in moved.problems)
        return
    assert isinstance(moved, Walk)
    asked = walker.prompted(TWO, moved)
    assert (f"question {asked.id}" if asked else moved.phase) == expected


def test_back_from_the_first_question_is_refused_and_keeps_the_walk() -> None:
    form = Form(questions=(question(),))
    assert isinstance(walker.step(form, walker.start(form), Back()), Refused)
    assert not walker.can_go_back(form, walker.start(form))


def test_back_and_the_same_answer_lead_to_the_same_place() -> None:
    there = PHASES["second question"]
    back = walker.step(TWO, there, Back())
    assert isinstance(back, Walk)
    assert walker.step(TWO, back, Answer(value=True)) == there


def test_back_skips_what_a_machine_answered() -> None:
    form = Form(questions=(question("a"), question("b"), question("c")))
    first = walker.step(form, walker.start(form), Answer(value=True))
    assert isinstance(first, Walk)
    second = walker.step(form, first, Answer(value=False), source=Source.CONFIG)
    assert isinstance(second, Walk)
    back = walker.step(form, second, Back())
    assert isinstance(back, Walk)
    assert (back.at, back.answers) == (0, ())


def test_an_edit_keeps_the_answers_that_do_not_hang_on_it() -> None:
    gated = question("b", when=When(question_id="a", equals=True))
    chained = question("c", when=When(question_id="b", equals=True))
    form = Form(questions=(question("a"), gated, chained, question("d")), review=True)
    walk = walked(form, *[Answer(value=True)] * 4, Edit(question_id="a"))
    assert [given.question_id for given in walk.answers] == ["d"]
    assert walk.again == Given(question_id="a", value=True)
    review = walker.step(form, walk, Answer(value=False))
    assert isinstance(review, Walk)
    assert (review.phase, [g.question_id for g in review.answers]) == (Phase.REVIEW, ["a", "d"])


def test_a_form_whose_questions_are_all_skipped_never_waits() -> None:
    form = Form(questions=(question("a"), question("b", when=When(question_id="a", equals=True))))
    assert walked(form, Answer(value=False)).phase is Phase.ANSWERED


def test_words_of_ones_own_replace_what_was_chosen_also_in_a_multi_select() -> None:
    form = Form(questions=(question("m", AnswerType.MULTI_SELECT, other=True),))
    (given,) = walked(form, Other(text=" mine ")).answers
    assert (given.value, given.other) == (" mine ", True)
    blank = walker.step(form, walker.start(form), Other(text=" \t\n"))
    assert isinstance(blank, Refused)
    assert [(p.pointer, p.code) for p in blank.problems] == [("/text", "empty")]


def test_remembering_is_refused_where_it_is_not_offered() -> None:
    for kind, persistence, offered in [
        (AnswerType.BOOLEAN, Persistence.TURN, True),
        (AnswerType.BOOLEAN, Persistence.NONE, False),
        (AnswerType.TEXT, Persistence.TURN, False),
    ]:
        form = Form(questions=(question(kind=kind, persistence=persistence),))
        value = True if kind is AnswerType.BOOLEAN else "text"
        moved = walker.step(form, walker.start(form), Answer(value=value, remember=True))
        assert isinstance(moved, Walk) is offered
        if isinstance(moved, Walk):
            assert moved.answers[0].remembered


def test_a_reply_without_words_is_refused_only_where_words_are_needed() -> None:
    free = Form(questions=(question(),))
    strict = free.model_copy(update={"reply_needs_text": True})
    for form, text, reply in [(free, None, None), (free, "  ", None), (strict, "do it", "do it")]:
        moved = walker.step(form, walker.start(form), Reply(text=text))
        assert isinstance(moved, Walk)
        assert moved.reply == reply
    assert isinstance(walker.step(strict, walker.start(strict), Reply(text="  ")), Refused)


def test_a_reply_with_half_a_surrogate_pair_is_no_text() -> None:
    form = Form(questions=(question(),))
    assert isinstance(walker.step(form, walker.start(form), Reply(text="\ud800")), Refused)


def test_what_was_not_answered_by_a_person_cannot_be_edited_and_what_can_is_named() -> None:
    review = walked(TWO, Answer(value=True), Answer(value=False))
    for name in ("c", ""):
        refused = walker.step(TWO, review, Edit(question_id=name))
        assert isinstance(refused, Refused)
        (problem,) = refused.problems
        assert (problem.pointer, '"a", "b"' in problem.message) == ("/question_id", True)
