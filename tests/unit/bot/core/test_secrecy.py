"""What nobody confirmed is nobody's answer, however the ask ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Change, Outcome, Reason, Status, apply_action, end_ask
from answerback.core.confirmation import ConfirmationRule
from answerback.core.secrecy import without_unconfirmed
from answerback.core.walker import GivenAnswer, Person
from answerback.dialects.registry import render_ended
from answerback.ports.store_values import StoredEntry
from answerback.service.record_wire import entries_for_agent
from answerback_testing.example_asks import FORM, new_ask


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


@pytest.mark.rule("CONFIRM-8", "CONFIRM-12")
@pytest.mark.parametrize("depends", [True, False])
def test_where_it_failed_tells_no_agent_what_was_answered(depends: bool) -> None:
    questions = FORM.questions
    if not depends:
        questions = tuple(each.model_copy(update={"when": None}) for each in questions)
    rule = ConfirmationRule(due=1)
    form = FORM.model_copy(update={"questions": questions, "confirmation": rule})
    by = Person(surface="slack", user_id="U1")
    answered = apply_action(new_ask(form=form), Answer(value=True), at=2.0, by=by)
    assert isinstance(answered, Change)
    assert answered.ask.question is not None
    question = answered.ask.question.id
    why = {
        "reason": Reason.BACKEND_ERROR,
        "message": f"The question {question} cannot be answered.",
    }
    done = end_ask(answered.ask, Status.FAILED, at=3.0, **why)  # type: ignore[arg-type]  # by name
    lines = [StoredEntry(n, entry) for n, entry in enumerate((*answered.entries, *done.entries))]
    read = entries_for_agent(done.ask, lines)
    assert [each.entry.kind for each in read][-1] == "ended"
    said = f"{render_ended(done.ask)} {[each.entry for each in read]}"
    assert ("backend_error" in said, question in said) == (not depends, not depends)
