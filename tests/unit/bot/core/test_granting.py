"""Things that a grant never does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core import granting
from answerback.core.actions import Answer
from answerback.core.ask import Change, apply_action
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question
from answerback.core.grants import Grant, GrantNote, GrantOffer, GrantTerms, Match
from answerback.core.walker import Person, Refused
from answerback_testing.example_asks import new_ask

ANN = Person(surface="chat", user_id="ann")
GRANT = Grant(
    id="grant_1",
    ask_id="ask_0",
    scope="s",
    match="command",
    subject="ls",
    agent="ci",
    owner=None,
    folder="/srv",
    route="prod",
    by=ANN,
    credential="",
    at=1.0,
    until=9_999.0,
    uses=3,
)
OFFER = GrantOffer(matches=(Match(match="command", subject="ls", scope="s"),), minutes=60, uses=3)


def permission(question_id: str, *kinds: OptionKind) -> Question:
    options = tuple(Option(value=f"{n}", label=f"{n}", kind=kind) for n, kind in enumerate(kinds))
    return Question(id=question_id, text="Run?", answer_type=AnswerType.SELECT, options=options)


ONCE = permission("first", OptionKind.ALLOW_ONCE, OptionKind.DENY)


@pytest.mark.rule("GRANT-2")
@pytest.mark.parametrize(
    "questions",
    [
        (ONCE, permission("second", OptionKind.ALLOW_ONCE)),
        (permission("first", OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ONCE),),
    ],
    ids=["a second question", "two ways to allow once"],
)
def test_a_grant_answers_only_what_its_one_option_ends(questions: tuple[Question, ...]) -> None:
    for form, is_used in ((Form(questions=(ONCE,)), True), (Form(questions=questions), False)):
        ask = new_ask(form=form)
        offering = replace(ask, request=ask.request.model_copy(update={"grants": OFFER}))
        assert (granting.use_grant(offering, GRANT) is not None) == is_used


@pytest.mark.rule("GRANT-2")
def test_a_grant_is_made_only_by_an_answer_that_ends_the_ask() -> None:
    terms = GrantTerms("command", 60, 3)
    for questions, code in (((ONCE,), None), ((ONCE, permission("second")), "not_grantable")):
        request = {"agent": "ci", "route": "prod", "grants": OFFER}
        ask = new_ask(form=Form(questions=questions), request=request)
        answer = Answer(value="0")
        change = apply_action(ask, answer, at=2.0, by=ANN)
        assert isinstance(change, Change)
        done = granting.make_grant(ask, answer, terms, change, ANN)
        assert (done.problems[0].code if isinstance(done, Refused) else None) == code


@pytest.mark.rule("GRANT-7")
def test_an_erased_ask_has_no_grant_to_revoke_because_it_has_ended() -> None:
    note = GrantNote(id=GRANT.id, by=ANN, uses=3, until=9_999.0)
    made_here = replace(new_ask(form=Form(questions=(ONCE,))), grant=note)
    assert granting.can_revoke(made_here)
    erased = replace(made_here, erased_at=2.0)
    assert isinstance(granting.revoke(erased, at=3.0, by=ANN), Refused)
