"""Sentences that all surfaces share, beyond what their own tests show."""

from __future__ import annotations

from answerback.core.ask import Reason, Status, end_ask
from answerback.core.erasure import erase_ask
from answerback.core.labels import ENGLISH
from answerback.core.view import view_of
from answerback.presentation.wording import subject
from answerback_testing.example_asks import new_ask


def test_an_erased_ask_is_called_that_in_a_list() -> None:
    ended = end_ask(new_ask(), Status.EXPIRED, at=2_000.0, reason=Reason.EXPIRED).ask
    assert subject(view_of(ended), ENGLISH) == view_of(ended).headline
    assert subject(view_of(erase_ask(ended, 3_000.0, ())), ENGLISH) == ENGLISH.erased
