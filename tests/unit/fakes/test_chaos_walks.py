"""The chaos suite's verifier detects lost, duplicated and out-of-order answers, and accepts all valid outcomes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.chaos.walks import BACK, Walk, verify


def answered(number: int, *, value: bool) -> dict[str, Any]:
    return {
        "type": "response",
        "question_id": f"q{number}",
        "response": {"answered": {"value": value}},
    }


BACKED: dict[str, Any] = {"type": "response", "question_id": "q1", "response": {"backed": {}}}
ENDED: dict[str, Any] = {"type": "ended"}


def make_walk() -> Walk:
    """Attempt a yes with an unknown outcome; then a no, Back and two yeses that are accepted."""
    walk = Walk("form-1", "slack", "ask_1")
    walk.attempt(1, value=True)
    walk.accepted(walk.attempt(1, value=False))
    walk.accepted(walk.attempt(2, BACK))
    walk.accepted(walk.attempt(3, value=True))
    walk.accepted(walk.attempt(4, value=True))
    return walk


def judge(walk: Walk, *lines: dict[str, Any], **answers: bool) -> None:
    ask = {"status": "answered", "revision": len(lines) + 1, "answers": answers}
    walk.outcome = ask
    verify(walk, ask, [*lines, ENDED])


@pytest.mark.parametrize("first", [True, False])
def test_any_attempt_at_a_question_may_count_if_one_outcome_is_unknown(first: bool) -> None:
    lines = (answered(0, value=first), BACKED, answered(0, value=True), answered(1, value=True))
    judge(make_walk(), *lines, q0=True, q1=True)


def test_an_attempt_at_a_revision_that_accepted_another_does_not_count() -> None:
    walk = make_walk()
    walk.attempt(4, value=False)
    lines = (answered(0, value=True), BACKED, answered(0, value=True), answered(1, value=False))
    with pytest.raises(AssertionError, match="at revision 4"):
        judge(walk, *lines, q0=True, q1=False)


def test_a_lost_accepted_answer_is_detected() -> None:
    with pytest.raises(AssertionError):
        judge(make_walk(), answered(0, value=True), answered(1, value=True), q0=True, q1=True)


def test_an_answer_counted_twice_is_detected() -> None:
    lines = (answered(0, value=True), BACKED, answered(0, value=True), answered(1, value=True))
    with pytest.raises(AssertionError):
        judge(make_walk(), *lines, answered(1, value=True), q0=True, q1=True)


def test_a_final_answer_that_differs_from_the_last_one_given_is_detected() -> None:
    lines = (answered(0, value=False), BACKED, answered(0, value=True), answered(1, value=True))
    with pytest.raises(AssertionError):
        judge(make_walk(), *lines, q0=False, q1=True)
