"""What nobody confirmed is nobody's answer, however the ask ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core.ask import Outcome, Reason, Status
from answerback.core.confirmation import ConfirmationRule
from answerback.core.secrecy import without_unconfirmed
from answerback.core.walker import GivenAnswer
from answerback.testing.example_asks import FORM, new_ask


@pytest.mark.rule("CONFIRM-12")
@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Outcome(status=Status.EXPIRED, reason=Reason.EXPIRED, at=2.0), Reason.NOT_CONFIRMED),
        (
            Outcome(status=Status.FAILED, reason=Reason.NO_PROMPT_BACKEND, at=2.0),
            Reason.NO_PROMPT_BACKEND,
        ),
    ],
)
def test_an_ask_that_ended_unconfirmed_has_no_answers_and_says_so_unless_it_failed(
    outcome: Outcome, reason: Reason
) -> None:
    form = FORM.model_copy(update={"confirmation": ConfirmationRule(due=1)})
    ask = new_ask(form=form, outcome=outcome)
    answered = replace(ask.walk, answers=(GivenAnswer(question_id="apply", value=True),))
    shown = without_unconfirmed(replace(ask, walk=answered))
    assert shown.walk.answers == ()
    assert shown.outcome is not None
    assert shown.outcome.reason is reason
