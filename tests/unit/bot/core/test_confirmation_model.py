"""Confirmations against a model that knows which accounts belong to one human, over people, rules and surfaces."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from answerback.core import ask as asks
from answerback.core import clarification
from answerback.core.actions import (
    Action,
    Answer,
    Back,
    Confirm,
    EndTurn,
    Object,
    Other,
    Reply,
    Submit,
)
from answerback.core.ask import Ask, RecordEntry, Status
from answerback.core.confirmation import ConfirmationRule
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question
from answerback.core.people import People
from answerback.core.person import AuthMethod, Person
from answerback.core.walker import Phase, Refused, Source
from answerback.ports.store_values import StoredEntry
from answerback.service.ask_wire import ask_json
from answerback.service.record_wire import entries_for_agent, entry_json
from answerback_testing.example_asks import new_ask
from answerback_webhooks.webhooks import build_webhook

pytestmark = [
    pytest.mark.rule("CONFIRM-1", "CONFIRM-3", "CONFIRM-5", "CONFIRM-8"),
    pytest.mark.long,
]

HUMANS: Final = ("ann", "bob", "cy", "dee")
SURFACES: Final = ("slack", "discord", "web")
SECRET: Final = "sesame"
"""A part of every answer, so that a leak can be seen."""
OPERATOR: Final = Person(surface="web", user_id="operator", known=AuthMethod.KEY)
_APPROVAL: Final = Question(
    id="decision",
    text="Run it",
    answer_type=AnswerType.SELECT,
    options=(
        Option(value=f"allow {SECRET}", label="Allow", kind=OptionKind.ALLOW_ONCE),
        Option(value=f"deny {SECRET}", label="Deny", kind=OptionKind.DENY),
    ),
)
_WHY: Final = Question(id="why", text="Why?", answer_type=AnswerType.TEXT)
_MORE: Final = Question(id="more", text="What else?", answer_type=AnswerType.TEXT)


class Confirmations(RuleBasedStateMachine):
    """People with accounts on several surfaces, of which the directory knows some, act on one ask."""

    ask: Ask
    people: People

    @initialize(
        due=st.integers(1, 3),
        listed=st.sets(st.sampled_from([(who, on) for who in HUMANS for on in SURFACES])),
        requester=st.none() | st.sampled_from(HUMANS),
        approval=st.booleans(),
        review=st.booleans(),
    )
    def begin(
        self,
        due: int,
        listed: set[tuple[str, str]],
        requester: str | None,
        approval: bool,
        review: bool,
    ) -> None:
        accounts = {
            who: tuple(f"{on}:{who}@{on}" for w, on in listed if w == who) for who in HUMANS
        }
        self.people, self.rule = People(accounts), ConfirmationRule(due=due, requester=requester)
        questions = (_APPROVAL,) if approval else (_WHY, _MORE)
        form = Form(questions=questions, review=review, confirmation=self.rule)
        self.ask = new_ask(form=form, request={"accepts": ("clarify",), "callback": "https://a/"})
        self.entries: list[StoredEntry] = []
        self.humans_confirmed: set[str] = set()
        self.humans_answered: set[str] = set()

    def act(self, who: Person | None, action: Action, source: Source = Source.HUMAN) -> bool:
        before = self.ask
        done = asks.apply_action(
            self.ask, action, at=2_000.0, by=who, source=source, people=self.people
        )
        if isinstance(done, Refused):
            assert self.ask == before
            return False
        self.ask = done.ask
        self.keep(done.entries)
        return True

    def keep(self, entries: tuple[RecordEntry, ...]) -> None:
        self.entries += [StoredEntry(len(self.entries) + i, each) for i, each in enumerate(entries)]

    @precondition(lambda self: self.ask.open)
    @rule(human=st.sampled_from(HUMANS), on=st.sampled_from(SURFACES), deny=st.integers(0, 3))
    def answer(self, human: str, on: str, deny: int) -> None:
        question = self.ask.question
        value = f"{SECRET} {len(self.entries)}"
        if question is not None and question.options:
            value = question.options[deny == 0].value
        if self.act(_account(human, on), Answer(value=value)):
            self.humans_answered.add(human)

    @precondition(lambda self: self.ask.open)
    @rule()
    def a_machine_answers(self) -> None:
        question = self.ask.question
        value = question.options[0].value if question and question.options else SECRET
        self.act(None, Answer(value=value), Source.CONFIG)

    @precondition(lambda self: self.ask.open)
    @rule(human=st.sampled_from(HUMANS), on=st.sampled_from(SURFACES))
    def submit(self, human: str, on: str) -> None:
        if self.act(_account(human, on), Submit()):
            self.humans_answered.add(human)

    @precondition(lambda self: self.ask.open)
    @rule(human=st.sampled_from(HUMANS), on=st.sampled_from(SURFACES))
    def confirm(self, human: str, on: str) -> None:
        votes = len(self.ask.walk.votes)
        if self.act(_account(human, on), Confirm()):
            assert human not in self.humans_answered
            assert human not in self.humans_confirmed
            assert human != self.rule.requester
            self.humans_confirmed.add(human)
            assert len(self.ask.walk.votes) == votes + 1

    @precondition(lambda self: self.ask.open)
    @rule()
    def the_operators_key_confirms_nothing(self) -> None:
        assert not self.act(OPERATOR, Confirm())

    @precondition(lambda self: self.ask.open)
    @rule(human=st.sampled_from(HUMANS), on=st.sampled_from(SURFACES))
    def back(self, human: str, on: str) -> None:
        confirming, person = self.ask.confirming, _account(human, on)
        answerers = self.ask.walk.answerers
        if self.act(person, Back()):
            self.humans_confirmed.clear()
            if confirming:
                assert any(self.people.is_same(person, one) for one in answerers)
                assert human in self.humans_answered
            self.forget_answers()

    def forget_answers(self) -> None:
        """Only those count whose answers stand."""
        stand = {one.user_id.partition("@")[0] for one in self.ask.walk.answerers}
        self.humans_answered &= stand

    @precondition(lambda self: self.ask.open)
    @rule()
    def the_agent_explains(self) -> None:
        done = clarification.apply_explanation(self.ask, f"Because {len(self.entries)}", at=2_000.0)
        if done is not None and not isinstance(done, Refused):
            self.ask = done.ask
            self.keep(done.entries)
            self.humans_confirmed.clear()
            assert self.ask.walk.votes == ()

    @precondition(lambda self: self.ask.open)
    @rule(human=st.sampled_from(HUMANS), how=st.integers(0, 20))
    def end(self, human: str, how: int) -> None:
        person = _account(human, "web")
        if how == 0:
            self.act(person, EndTurn())
        elif how == 1:
            self.act(person, Reply(text="no"))
        elif how == 2:
            assert self.act(person, Object(text="no")) == self.ask.confirming or not self.ask.open

    @precondition(lambda self: self.ask.confirming)
    @rule()
    def nothing_else_is_possible(self) -> None:
        for action in (Answer(value="x"), Other(text="x"), Submit()):
            assert not self.act(_account("ann", "web"), action)

    @precondition(lambda self: not self.ask.open)
    @rule(human=st.sampled_from(HUMANS))
    def the_end_is_the_end(self, human: str) -> None:
        for action in (Confirm(), Object(), Back(), EndTurn()):
            assert not self.act(_account(human, "web"), action)

    @invariant()
    def nothing_is_answered_by_too_few(self) -> None:
        if self.ask.status is not Status.ANSWERED:
            return
        values = {given.question_id: given.value for given in self.ask.walk.answers}
        if not self.ask.form.only_denies(values):
            assert len(self.ask.walk.votes) == len(self.humans_confirmed) == self.rule.due
            assert not self.humans_confirmed & self.humans_answered
            assert len(ask_json(self.ask)["confirmed_by"]) == self.rule.due  # type: ignore[arg-type]

    @invariant()
    def the_agent_learns_no_unconfirmed_answer(self) -> None:
        if self.ask.status is Status.ANSWERED:
            return
        shown: list[Any] = [
            ask_json(self.ask),
            build_webhook(self.ask, "https://a/", 1.0, "x").body,
        ]
        shown += [entry_json(each) for each in entries_for_agent(self.ask, self.entries)]
        text = json.dumps(shown)
        if self.ask.open:
            text = text.replace(json.dumps(ask_json(self.ask)["prompt"]), "")
        assert f"{SECRET} " not in text
        assert "answered" not in {line.get("type") for line in shown[2:]}
        if self.ask.walk.phase is Phase.CONFIRMATION or not self.ask.open:
            lines = [each for each in shown if "request" not in each]  # it has the options
            assert SECRET not in json.dumps(lines)
        if self.ask.walk.phase is Phase.CONFIRMATION:
            people_read = json.dumps(ask_json(self.ask, to_people=True))
            assert SECRET in people_read


def _account(human: str, surface: str) -> Person:
    return Person(surface=surface, user_id=f"{human}@{surface}")


TestConfirmations = Confirmations.TestCase
TestConfirmations.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
