"""The walker: every action in every phase, and the rules that deserve a test of their own."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core import refusals, walker
from answerback.core.actions import Action, Answer, Back, Edit, EndTurn, Next, Other, Reply, Submit
from answerback.core.ask import current_question
from answerback.core.form import AnswerType, Form, Option, Persistence, Question, When
from answerback.core.refusals import Refusal
from answerback.core.walker import Phase, Refused, Source, Walk

OPTIONS = (Option(value="x", label="Ex"), Option(value="y", label="Why"))


def question(
    question_id: str = "a", kind: AnswerType = AnswerType.BOOLEAN, **more: Any
) -> Question:
    options = OPTIONS if kind in {AnswerType.SELECT, AnswerType.MULTI_SELECT} else ()
    return Question(
        **{"id": question_id, "text": "?", "answer_type": kind, "options": options, **more}
    )


def walked(form: Form, *actions: Action) -> Walk:
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
    "back in review": walked(TWO, Answer(value=True), Back()),
    "review": walked(TWO, Answer(value=True), Answer(value=False)),
    "edit in review": walked(TWO, Answer(value=True), Answer(value=False), Edit(question_id="b")),
    "answered": walked(TWO, Answer(value=True), Answer(value=False), Submit()),
    "cancelled": walked(TWO, Reply(text="no")),
    "turn ended": walked(TWO, EndTurn()),
}
ACTIONS: dict[str, Action] = {
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
    "back in review": {"answer": "question b", "reply": "cancelled", "end turn": "turn_ended"},
    "review": {
        "back": "question b",
        "edit": "question a",
        "submit": "answered",
        "reply": "cancelled",
        "end turn": "turn_ended",
    },
    "edit in review": {
        "answer": "review",
        "back": "review",
        "reply": "cancelled",
        "end turn": "turn_ended",
    },
    "answered": {},
    "cancelled": {},
    "turn ended": {},
}
ENDED = ("answered", "cancelled", "turn ended")
REFUSED = {
    ("first question", "back"): "nothing_to_go_back_to",
    ("back in review", "back"): "nothing_to_go_back_to",
    ("review", "answer"): "no_open_question",
    ("review", "other"): "no_open_question",
    **{
        (phase, action): code
        for phase in ("first question", "second question", "back in review", "edit in review")
        for action, code in (
            ("other", "takes_no_other_text"),
            ("edit", "not_in_review"),
            ("submit", "question_open"),
        )
    },
}
"""Why an open walk refuses an action."""


@pytest.mark.rule("ASK-2", "WALK-2", "WALK-5")
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("phase", PHASES)
def test_every_phase_accepts_the_actions_in_the_table_and_rejects_all_others(
    phase: str, action: str
) -> None:
    moved = walker.step(TWO, PHASES[phase], ACTIONS[action])
    expected = TABLE[phase].get(action)
    if expected is None:
        assert isinstance(moved, Refused)
        (problem,) = moved.problems
        assert problem.code == REFUSED.get((phase, action), "ended" if phase in ENDED else None)
        assert problem.message
        return
    assert isinstance(moved, Walk)
    asked = current_question(TWO, moved)
    assert (f"question {asked.id}" if asked else moved.phase) == expected


def test_every_refusal_has_a_code_of_its_own() -> None:
    codes = [value.code for value in vars(refusals).values() if isinstance(value, Refusal)]
    assert len(codes) == len(set(codes)) > 40


@pytest.mark.rule("WALK-4")
def test_back_from_the_first_question_is_rejected_and_keeps_the_walk() -> None:
    form = Form(questions=(question(),))
    assert isinstance(walker.step(form, walker.start(form), Back()), Refused)
    assert not walker.can_go_back(form, walker.start(form))


def test_going_back_and_answering_the_same_restores_the_walk() -> None:
    there = PHASES["second question"]
    back = walker.step(TWO, there, Back())
    assert isinstance(back, Walk)
    assert walker.step(TWO, back, Answer(value=True)) == there


@pytest.mark.rule("WALK-3")
def test_back_skips_answers_by_machines() -> None:
    form = Form(questions=(question("a"), question("b"), question("c")))
    first = walker.step(form, walker.start(form), Answer(value=True))
    assert isinstance(first, Walk)
    second = walker.step(form, first, Answer(value=False), source=Source.CONFIG)
    assert isinstance(second, Walk)
    back = walker.step(form, second, Back())
    assert isinstance(back, Walk)
    assert (back.at, back.answers) == (0, ())


THREE = Form(questions=(question("a"), question("b"), question("c")), review=True)


def prompts(form: Form, walk: Walk) -> tuple[str | None, Any]:
    """Return the open question's id and its prefill."""
    asked = current_question(form, walk)
    return asked.id if asked else None, walk.again.value if walk.again else None


@pytest.mark.rule("WALK-14")
def test_with_a_review_back_only_moves_and_later_answers_are_offered_again() -> None:
    review = walked(THREE, Answer(value=True), Answer(value=False), Answer(value=True))
    twice = walked(THREE, *[Answer(value=v) for v in (True, False, True)], Back(), Back())
    assert prompts(THREE, twice) == ("b", False)
    assert twice.answers == review.answers
    on = walker.step(THREE, twice, Answer(value=True))
    assert isinstance(on, Walk)
    assert prompts(THREE, on) == ("c", True)
    again = walker.step(THREE, on, Answer(value=True))
    assert isinstance(again, Walk)
    assert again.phase is Phase.REVIEW
    assert [given.value for given in again.answers] == [True, True, True]


@pytest.mark.rule("WALK-3")
def test_without_a_review_back_removes_the_answer_and_all_later_ones() -> None:
    form = THREE.model_copy(update={"review": False})
    back = walked(form, Answer(value=True), Answer(value=False), Back(), Back())
    assert (prompts(form, back), back.answers) == (("a", True), ())
    on = walker.step(form, back, Answer(value=True))
    assert isinstance(on, Walk)
    assert prompts(form, on) == ("b", None)


GATED = Form(
    questions=(
        question("a"),
        question("b", when=When(question_id="a", equals=True)),
        question("c", when=When(question_id="b", equals=True)),
        question("d"),
        question("e", when=When(question_id="a", equals=False)),
    ),
    review=True,
)
GATED_REVIEW = walked(GATED, *[Answer(value=True)] * 4)


@pytest.mark.rule("WALK-12")
def test_an_edit_keeps_the_answers_that_do_not_depend_on_it() -> None:
    edit = walker.step(GATED, GATED_REVIEW, Edit(question_id="a"))
    assert isinstance(edit, Walk)
    assert (prompts(GATED, edit), edit.answers) == (("a", True), GATED_REVIEW.answers)
    changed = walker.step(GATED, edit, Answer(value=False))
    assert isinstance(changed, Walk)
    assert prompts(GATED, changed) == ("e", None)
    assert [given.question_id for given in changed.answers] == ["a", "d"]
    review = walker.step(GATED, changed, Answer(value=True))
    assert isinstance(review, Walk)
    assert (review.phase, [g.question_id for g in review.answers]) == (
        Phase.REVIEW,
        ["a", "d", "e"],
    )


@pytest.mark.rule("WALK-13")
def test_back_during_an_edit_returns_to_the_unchanged_review() -> None:
    edit = walker.step(GATED, GATED_REVIEW, Edit(question_id="a"))
    assert isinstance(edit, Walk)
    assert walker.can_go_back(GATED, edit)
    assert walker.step(GATED, edit, Back()) == GATED_REVIEW
    changed = walker.step(GATED, edit, Answer(value=False))
    assert isinstance(changed, Walk)
    assert walker.step(GATED, changed, Back()) == GATED_REVIEW


@pytest.mark.rule("WALK-12")
def test_the_answer_to_a_question_that_was_skipped_for_a_while_is_offered_again() -> None:
    skipped = walked(
        GATED, *[Answer(value=True)] * 4, Edit(question_id="a"), *[Answer(value=False)] * 2
    )
    assert [given.question_id for given in skipped.answers] == ["a", "d", "e"]
    edit = walker.step(GATED, skipped, Edit(question_id="a"))
    assert isinstance(edit, Walk)
    asked_again = walker.step(GATED, edit, Answer(value=True))
    assert isinstance(asked_again, Walk)
    assert prompts(GATED, asked_again) == ("b", True)


NEXT = Next()
YES, NO = Answer(value=True), Answer(value=False)


@pytest.mark.rule("WALK-18")
def test_a_question_can_be_left_for_later_and_comes_again_before_the_review() -> None:
    left = walked(THREE, NEXT)
    assert (prompts(THREE, left), left.answers) == (("b", None), ())
    assert walker.has_next(THREE, left)
    assert not walker.can_go_back(THREE, left)
    last = walked(THREE, NEXT, NO)
    assert prompts(THREE, last) == ("c", None)
    first = walked(THREE, NEXT, NO, YES)
    assert prompts(THREE, first) == ("a", None)
    assert not walker.has_next(THREE, first)
    review = walked(THREE, NEXT, NO, YES, YES)
    assert review == walked(THREE, YES, NO, YES)


@pytest.mark.rule("WALK-18")
def test_behind_the_last_question_those_left_for_later_follow_and_none_that_has_an_answer() -> None:
    assert prompts(THREE, walked(THREE, NEXT, NEXT)) == ("c", None)
    assert prompts(THREE, walked(THREE, NEXT, NEXT, NEXT)) == ("a", None)
    assert prompts(THREE, walked(THREE, NEXT, NEXT, YES)) == ("a", None)
    assert prompts(THREE, walked(THREE, NEXT, NEXT, YES, NEXT)) == ("b", None)
    assert prompts(THREE, walked(THREE, NEXT, NEXT, YES, NO)) == ("b", None)


@pytest.mark.rule("WALK-18", "WALK-14")
def test_next_leaves_an_earlier_answer_as_it_is_and_back_offers_every_later_one_again() -> None:
    on = walked(THREE, YES, NO, Back(), NEXT)
    assert (prompts(THREE, on), [each.value for each in on.answers]) == (("c", None), [True, False])
    back = walked(THREE, YES, NEXT, NO, Back())
    assert prompts(THREE, back) == ("a", True)
    assert prompts(THREE, walked(THREE, YES, NEXT, NO, Back(), NO)) == ("b", None)
    assert prompts(THREE, walked(THREE, YES, NEXT, NO, Back(), NO, YES)) == ("c", False)


@pytest.mark.rule("WALK-18")
def test_next_passes_questions_that_are_skipped_or_depend_on_what_has_no_answer() -> None:
    assert prompts(GATED, walked(GATED, NEXT)) == ("d", None)
    only = walked(GATED, NEXT, YES)
    assert (prompts(GATED, only), walker.has_next(GATED, only)) == (("a", None), False)
    assert prompts(GATED, walked(GATED, YES, NEXT)) == ("d", None)
    assert prompts(GATED, walked(GATED, NO, NEXT)) == ("e", None)


@pytest.mark.rule("WALK-18")
def test_an_answer_that_is_kept_is_offered_where_next_leads() -> None:
    """The gate of `b` was closed and opened again; `d` has lost its answer to nobody."""
    shut = walked(GATED, *[YES] * 4, Edit(question_id="a"), NO)
    assert prompts(GATED, shut) == ("e", None)
    opened = walked(GATED, *[YES] * 2, Back(), Back(), NO, Back(), YES, NEXT)
    assert prompts(GATED, opened)[0] == "d"


@pytest.mark.rule("WALK-18")
def test_without_a_review_no_question_can_be_left_for_later() -> None:
    form = THREE.model_copy(update={"review": False})
    for at, code in ((form, "nothing_to_move_on_to"), (THREE, None)):
        walk = walker.start(at)
        assert walker.has_next(at, walk) is (code is None)
        moved = walker.step(at, walk, NEXT)
        assert (moved.problems[0].code if isinstance(moved, Refused) else None) == code
    review = walked(THREE, YES, NO, YES)
    refused = walker.step(THREE, review, NEXT)
    assert isinstance(refused, Refused)
    assert refused.problems[0].code == "no_open_question"


@pytest.mark.rule("WALK-18", "SUBMIT-12")
def test_at_a_deadline_only_what_was_left_for_later_takes_a_default() -> None:
    left = walked(THREE, NEXT, NO, YES)
    resumed = walker.resume(THREE, walked(THREE, NEXT, NO))
    assert prompts(THREE, resumed) == ("a", None)
    taken = walker.step(THREE, resumed, YES, source=Source.DEFAULT)
    assert isinstance(taken, Walk)
    assert prompts(THREE, taken) == ("c", None), "what a person answered is not asked again"
    assert prompts(THREE, walker.resume(THREE, left)) == ("a", None)


@pytest.mark.rule("WALK-14")
def test_answers_by_machines_are_not_offered_again() -> None:
    first = walked(THREE, Answer(value=True))
    second = walker.step(THREE, first, Answer(value=False), source=Source.CONFIG)
    assert isinstance(second, Walk)
    back = walker.step(THREE, second, Back())
    assert isinstance(back, Walk)
    assert prompts(THREE, back) == ("a", True)
    on = walker.step(THREE, back, Answer(value=True))
    assert isinstance(on, Walk)
    assert prompts(THREE, on) == ("c", None)
    assert [given.source for given in on.answers] == [Source.HUMAN, Source.CONFIG]


def test_resuming_an_abandoned_walk_counts_answers_that_were_not_discarded() -> None:
    answers = [Answer(value=v) for v in (True, False, True)]
    review = walked(THREE, *answers)
    assert walker.resume(THREE, walked(THREE, *answers, Back(), Back())) == review
    assert walker.resume(THREE, walked(THREE, *answers, Edit(question_id="a"))) == review
    discarded = walked(form := THREE.model_copy(update={"review": False}), answers[0], Back())
    assert walker.resume(form, discarded) is discarded


@pytest.mark.rule("WALK-1")
def test_a_form_whose_questions_are_all_skipped_never_waits() -> None:
    form = Form(questions=(question("a"), question("b", when=When(question_id="a", equals=True))))
    assert walked(form, Answer(value=False)).phase is Phase.ANSWERED


def several(*, beside: bool) -> Form:
    kind = AnswerType.MULTI_SELECT
    return Form(questions=(question("m", kind, other=True, other_beside=beside),))


@pytest.mark.rule("WALK-10")
@pytest.mark.parametrize(
    ("beside", "ticked", "value", "chosen"),
    [
        (False, None, " mine ", None),
        (False, ["y", "x"], " mine ", None),
        (True, None, [" mine "], []),
        (True, ["y", "x"], ["x", "y", " mine "], ["x", "y"]),
    ],
)
def test_free_text_is_added_to_the_ticked_options_or_replaces_them(
    beside: bool, ticked: Any, value: Any, chosen: Any
) -> None:
    (given,) = walked(several(beside=beside), Other(text=" mine ", value=ticked)).answers
    assert (given.value, given.other) == (value, True)
    assert (given.other_text, given.chosen) == (" mine ", chosen)


@pytest.mark.rule("WALK-10")
def test_free_text_that_is_a_ticked_option_does_not_repeat_it() -> None:
    (given,) = walked(several(beside=True), Other(text="x ", value=["y", "x"])).answers
    assert (given.value, given.other, given.other_text) == (["x", "y"], False, None)


@pytest.mark.rule("WALK-9")
@pytest.mark.parametrize(
    ("action", "pointer", "code"),
    [
        (Other(text=" \t\n", value=["x"]), "/text", "empty"),
        (Other(text="mine", value=["z"]), "/value/0", "unknown_value"),
        (Other(text="mine", value="x"), "/value", "wrong_type"),
    ],
)
@pytest.mark.parametrize("beside", [False, True])
def test_blank_free_text_and_unknown_options_are_rejected(
    beside: bool, action: Other, pointer: str, code: str
) -> None:
    form = several(beside=beside)
    refused = walker.step(form, walker.start(form), action)
    assert isinstance(refused, Refused)
    assert [(p.pointer, p.code) for p in refused.problems] == [(pointer, code)]


@pytest.mark.rule("WALK-9")
def test_a_single_choice_takes_an_option_or_free_text_but_not_both() -> None:
    form = Form(questions=(question("s", AnswerType.SELECT, other=True),))
    refused = walker.step(form, walker.start(form), Other(text="mine", value="x"))
    assert isinstance(refused, Refused)
    assert [(p.pointer, p.code) for p in refused.problems] == [("/value", "option_or_text")]
    (given,) = walked(form, Other(text="mine")).answers
    assert (given.value, given.other_text, given.chosen) == ("mine", "mine", None)


@pytest.mark.rule("ROUTE-5")
def test_remembering_is_rejected_if_it_is_not_offered() -> None:
    for kind, persistence, offered in [
        (AnswerType.BOOLEAN, Persistence.TURN, True),
        (AnswerType.BOOLEAN, Persistence.NONE, False),
        (AnswerType.TEXT, Persistence.TURN, False),
    ]:
        form = Form(questions=(question(kind=kind, persistence=persistence, exclusive=False),))
        value = True if kind is AnswerType.BOOLEAN else "text"
        moved = walker.step(form, walker.start(form), Answer(value=value, remember=True))
        assert isinstance(moved, Walk) is offered
        if isinstance(moved, Walk):
            assert moved.answers[0].remembered


def test_an_answer_that_may_not_be_remembered_is_refused_at_that_field() -> None:
    form = Form(questions=(question(),))
    refused = walker.step(form, walker.start(form), Answer(value=True, remember=True))
    assert isinstance(refused, Refused)
    (problem,) = refused.problems
    assert (problem.pointer, problem.code) == ("/remember", "cannot_be_remembered")


@pytest.mark.rule("WALK-5")
def test_a_reply_without_text_is_rejected_only_if_text_is_required() -> None:
    free = Form(questions=(question(),))
    strict = free.model_copy(update={"reply_needs_text": True})
    for form, text, reply in [(free, None, None), (free, "  ", None), (strict, "do it", "do it")]:
        moved = walker.step(form, walker.start(form), Reply(text=text))
        assert isinstance(moved, Walk)
        assert moved.reply == reply
    refused = walker.step(strict, walker.start(strict), Reply(text="  "))
    assert isinstance(refused, Refused)
    assert [(p.pointer, p.code) for p in refused.problems] == [("/text", "reply_needs_text")]


def test_a_reply_with_half_a_surrogate_pair_is_rejected() -> None:
    form = Form(questions=(question(),))
    assert isinstance(walker.step(form, walker.start(form), Reply(text="\ud800")), Refused)


@pytest.mark.rule("WALK-11")
def test_only_human_answers_can_be_edited_and_the_error_lists_them() -> None:
    review = walked(TWO, Answer(value=True), Answer(value=False))
    for name in ("c", ""):
        refused = walker.step(TWO, review, Edit(question_id=name))
        assert isinstance(refused, Refused)
        (problem,) = refused.problems
        assert (problem.pointer, '"a", "b"' in problem.message) == ("/question_id", True)
    filled = walker.step(
        TWO, walked(TWO, Answer(value=True)), Answer(value=False), source=Source.CONFIG
    )
    assert isinstance(filled, Walk)
    refused = walker.step(TWO, filled, Edit(question_id="b"))
    assert isinstance(refused, Refused)
    assert refused.problems[0].message.endswith('these have one: "a".')
    assert isinstance(walker.step(TWO, filled, Edit(question_id="a")), Walk)
