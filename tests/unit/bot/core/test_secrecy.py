"""An answer that nobody confirmed is nobody's answer, however the ask ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core.actions import Answer, Back
from answerback.core.ask import Ask, Change, Outcome, Reason, Status, apply_action, end_ask
from answerback.core.confirmation import ConfirmationRule
from answerback.core.form import AnswerType, Form, Question
from answerback.core.secrecy import is_unconfirmed, view_for_agent, without_unconfirmed
from answerback.core.view import View, view_of
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


BY = Person(surface="slack", user_id="U1")
FREE = Question(
    id="why",
    text="Why?",
    context="The reason goes into the log.",
    answer_type=AnswerType.TEXT,
    default="because",
    has_default=True,
)


def acted(ask: Ask, action: Answer | Back) -> Ask:
    done = apply_action(ask, action, at=2.0, by=BY)
    assert isinstance(done, Change)
    return done.ask


def read_by_agent(ask: Ask) -> View:
    return view_for_agent(ask, view_of(ask))


@pytest.mark.rule("CONFIRM-8")
def test_an_agent_reads_the_default_of_the_first_question_instead_of_what_was_taken_back() -> None:
    form = Form(
        questions=(FREE, FREE.model_copy(update={"id": "more"})),
        confirmation=ConfirmationRule(due=1),
    )
    ask = acted(acted(new_ask(form=form), Answer(value="a secret")), Back())
    shown = view_of(ask).prompt
    assert shown is not None
    assert (shown.prefill, shown.is_prefilled) == ("a secret", True)
    prompt = read_by_agent(ask).prompt
    assert prompt is not None
    assert (prompt.prefill, prompt.again) == ("because", None)
    assert "a secret" not in repr(read_by_agent(ask))


@pytest.mark.rule("CONFIRM-8")
@pytest.mark.parametrize(("tool", "label"), [("Deployer", "Deployer"), (None, "Releases")])
def test_an_agent_reads_no_question_that_an_answer_led_to_but_who_asks(
    tool: str | None, label: str
) -> None:
    form = FORM.model_copy(update={"confirmation": ConfirmationRule(due=1), "tool": tool})
    labels = {"env": "Environments"}  # that this label is shown would tell which question is open
    ask = new_ask(form=form, request={"prompt_label": "Releases", "prompt_labels": labels})
    assert read_by_agent(ask).prompt is not None
    ask = acted(ask, Answer(value=True))
    assert view_of(ask).prompt is not None
    view = read_by_agent(ask)
    assert (view.prompt, view.lines, view.label) == (None, (), label)


@pytest.mark.rule("CONFIRM-8", "CONFIRM-12")
def test_while_answers_wait_for_confirmation_an_agent_reads_neither_them_nor_their_context() -> (
    None
):
    ask = new_ask(form=Form(questions=(FREE,), confirmation=ConfirmationRule(due=1)))
    assert not is_unconfirmed(ask)
    ask = acted(ask, Answer(value="a secret"))
    assert not is_unconfirmed(ask)
    confirmation = read_by_agent(ask).confirmation
    shown = view_of(ask).confirmation
    assert shown is not None
    assert shown.about.question.context is not None
    assert confirmation is not None
    assert confirmation.about.question.context is None
    assert read_by_agent(ask).lines == ()
