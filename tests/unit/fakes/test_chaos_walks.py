"""What the chaos suite takes for lost, doubled or out of order: its judge finds each, and lets pass what may be."""

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


def walked() -> Walk:
    """Yes, whose fate nobody knows; then no, which was accepted; back; and yes twice."""
    walk = Walk("form-1", "slack", "ask_1")
    walk.tries(1, value=True)
    walk.accepted(walk.tries(1, value=False))
    walk.accepted(walk.tries(2, BACK))
    walk.accepted(walk.tries(3, value=True))
    walk.accepted(walk.tries(4, value=True))
    return walk


def judged(walk: Walk, *lines: dict[str, Any], **answers: bool) -> None:
    ask = {"status": "answered", "revision": len(lines) + 1, "answers": answers}
    walk.told = ask
    verify(walk, ask, [*lines, ENDED])


@pytest.mark.parametrize("first", [True, False])
def test_of_tries_at_the_same_question_whose_fate_is_unknown_any_may_count(first: bool) -> None:
    lines = (answered(0, value=first), BACKED, answered(0, value=True), answered(1, value=True))
    judged(walked(), *lines, q0=True, q1=True)


def test_what_was_tried_after_something_was_accepted_does_not_count() -> None:
    walk = walked()
    walk.tries(4, value=False)
    lines = (answered(0, value=True), BACKED, answered(0, value=True), answered(1, value=False))
    with pytest.raises(AssertionError, match="at revision 4"):
        judged(walk, *lines, q0=True, q1=False)


def test_an_accepted_answer_that_is_lost_is_found() -> None:
    with pytest.raises(AssertionError):
        judged(walked(), answered(0, value=True), answered(1, value=True), q0=True, q1=True)


def test_an_answer_that_counted_twice_is_found() -> None:
    lines = (answered(0, value=True), BACKED, answered(0, value=True), answered(1, value=True))
    with pytest.raises(AssertionError):
        judged(walked(), *lines, answered(1, value=True), q0=True, q1=True)


def test_an_end_that_is_not_what_was_answered_last_is_found() -> None:
    lines = (answered(0, value=False), BACKED, answered(0, value=True), answered(1, value=True))
    with pytest.raises(AssertionError):
        judged(walked(), *lines, q0=False, q1=True)
