"""Calls that can be tried again, until when, and the text that a model then reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from answerback.core import too_late
from answerback.core.ask import Ask, Change
from answerback.core.giving_up import GaveUp
from answerback.core.too_late import MAX_TEXT, TryAgain
from answerback.core.walker import Person, Refused
from answerback_base.retry_text import describe_retry
from answerback_testing.example_asks import new_ask

pytestmark = pytest.mark.rule("LATE-9")

ANN: Final = Person(surface="chat", user_id="ann")
GIVEN_UP: Final = too_late.give_up(new_ask(), GaveUp.DENIED, at=2_000.0).ask
A_DAY_LATER: Final = 2_000.0 + 86_400.0


def tell(ask: Ask, at: float, text: str | None = None) -> Ask | str:
    """Return the ask with what a person told its agent, or why they could not."""
    done = too_late.apply_try_again(ask, TryAgain(text=text), at=at, by=ANN)
    if isinstance(done, Refused):
        [problem] = done.problems
        return problem.code
    assert isinstance(done, Change)
    return done.ask


def test_it_is_offered_for_a_day_after_the_end() -> None:
    assert too_late.can_try_again(GIVEN_UP)
    assert too_late.can_try_again(GIVEN_UP, A_DAY_LATER)
    assert not too_late.can_try_again(GIVEN_UP, A_DAY_LATER + 1.0)
    assert tell(GIVEN_UP, A_DAY_LATER) != "too_late_to_try_again"
    assert tell(GIVEN_UP, A_DAY_LATER + 1.0) == "too_late_to_try_again"


@pytest.mark.parametrize("at", [None, 2_000.0, A_DAY_LATER + 1.0])
def test_an_open_ask_and_an_erased_one_have_nothing_to_try_again(at: float | None) -> None:
    for ask in (new_ask(), replace(GIVEN_UP, erased_at=2_001.0)):
        assert not too_late.can_try_again(ask, at)
        assert tell(ask, at or 0.0) == "nothing_to_try_again"


def test_it_is_told_once() -> None:
    once = tell(GIVEN_UP, 2_001.0, "On staging.")
    assert isinstance(once, Ask)
    assert once.retry_request is not None
    assert (once.retry_request.by, once.retry_request.text) == (ANN, "On staging.")
    assert not too_late.can_try_again(once)
    assert tell(once, 2_002.0) == "tried_again"


@pytest.mark.parametrize(("text", "code"), [("x" * (MAX_TEXT + 1), "too_long"), (" ", "empty")])
def test_a_text_that_cannot_be_taken_is_refused(text: str, code: str) -> None:
    assert tell(GIVEN_UP, 2_001.0, text) == code


@pytest.mark.parametrize("text", ["", None])
def test_without_a_text_none_is_kept(text: str | None) -> None:
    done = tell(GIVEN_UP, 2_001.0, text)
    assert isinstance(done, Ask)
    assert done.retry_request is not None
    assert done.retry_request.text is None


@pytest.mark.rule("LATE-10")
def test_a_model_reads_what_the_person_said_and_nothing_where_they_said_nothing() -> None:
    assert 'They say: "On staging."' in describe_retry("Run ls", "On staging.")
    assert "They say" not in describe_retry("Run ls", None)
