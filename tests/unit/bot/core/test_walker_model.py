"""The walker against a naive model of the same rules, over random forms and random actions."""

from __future__ import annotations

import copy
from typing import Any, Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pydantic import JsonValue, TypeAdapter

from answerback.core import walker
from answerback.core.actions import Action, Answer, Back, Edit, EndTurn, Next, Other, Reply, Submit
from answerback.core.ask import current_question
from answerback.core.form import Form
from answerback.core.walker import Refused, Walk
from answerback_base.strict_json import json_equal
from answerback_testing.strategies import forms, texts, values
from answerback_testing.walker_model import NaiveWalk

pytestmark = [pytest.mark.rule("WALK-1", "WALK-17"), pytest.mark.long]

_WALK: Final = TypeAdapter(Walk)


class WalkedForms(RuleBasedStateMachine):
    """Applies the same actions to the walker and the model; after each one, both must be in the same state."""

    form: Form
    walk: Walk
    model: NaiveWalk

    @initialize(form=forms(text_size=8))
    def begin(self, form: Form) -> None:
        self.form, self.walk, self.model = form, walker.start(form), NaiveWalk(form)

    def act(self, action: Action) -> bool:
        """Return whether the walker accepted the action; a refusal must leave it unchanged."""
        before = copy.deepcopy(self.walk)
        moved = walker.step(self.form, self.walk, action)
        assert self.walk == before
        if isinstance(moved, Refused):
            assert moved.problems
            return False
        self.walk = moved
        return True

    @precondition(lambda self: self.walk.phase == "question")
    @rule(data=st.data())
    def answer(self, data: Any) -> None:
        question = current_question(self.form, self.walk)
        assert question is not None
        value = data.draw(values(question))
        assert self.act(Answer(value=value))
        self.model.answer(value)

    @precondition(lambda self: self.walk.phase == "question")
    @rule(text=texts(), data=st.data())
    def other(self, text: str, data: Any) -> None:
        question = current_question(self.form, self.walk)
        assert question is not None
        ticked = data.draw(values(question)) if question.answer_type == "multi_select" else None
        if self.act(Other(text=text, value=ticked)):
            assert question.other
            beside = question.other_beside and isinstance(ticked, list)
            self.model.answer([*ticked, text] if beside and isinstance(ticked, list) else text)
        else:
            assert not question.other

    @rule()
    def back(self) -> None:
        assert self.act(Back()) == (self.walk.open and self.model.back())

    @rule()
    def next(self) -> None:
        assert self.act(Next()) == (self.walk.open and self.model.next())

    @precondition(lambda self: self.walk.phase == "review")
    @rule(data=st.data())
    def never_mind(self, data: Any) -> None:
        """Edit, perhaps continue a little, and go Back: the review is unchanged."""
        before = self.walk
        given = [answer.question_id for answer in before.answers]
        assert self.act(Edit(question_id=data.draw(st.sampled_from(given))))
        question = current_question(self.form, self.walk)
        if question is not None and data.draw(st.booleans()):
            assert self.act(Answer(value=data.draw(values(question))))
        if self.walk.phase == "review":  # the edit is over
            self.walk = before
            return
        assert self.act(Back())
        assert self.walk == before

    @rule(data=st.data())
    def edit(self, data: Any) -> None:
        question_id = data.draw(st.sampled_from([q.id for q in self.form.questions]))
        expected = self.model.edit(question_id)
        assert self.act(Edit(question_id=question_id)) == expected

    @rule()
    def submit(self) -> None:
        expected = self.model.phase() == "review"
        assert self.act(Submit()) == expected
        if expected:
            self.model.end("answered")

    @precondition(lambda self: self.walk.open)
    @rule(text=st.none() | texts(), turn=st.booleans(), surely=st.integers(0, 5))
    def end(self, text: str | None, turn: bool, surely: int) -> None:
        if surely:  # most walks continue
            return
        assert self.act(EndTurn() if turn else Reply(text=text))
        self.model.end("turn_ended" if turn else "cancelled", None if turn else text)

    @invariant()
    def same_place(self) -> None:
        assert self.walk.phase == self.model.phase()
        question = current_question(self.form, self.walk)
        current = self.model.current() if self.walk.open else None
        assert (question and question.id) == (current and current.id)
        assert self.walk.reply == self.model.reply
        assert walker.can_go_back(self.form, self.walk) == self.model.can_go_back()
        if question is not None:
            shown: JsonValue = self.walk.again.value if self.walk.again else question.default
            assert json_equal(shown, self.model.prefill)

    @invariant()
    def same_answers(self) -> None:
        order = [q.id for q in self.form.questions]
        ids = [given.question_id for given in self.walk.answers]
        assert ids == sorted(ids, key=order.index)
        assert set(ids) == set(self.model.given)
        assert all(
            json_equal(given.value, self.model.given[given.question_id].value)
            for given in self.walk.answers
        )

    @invariant()
    def begins_with_the_first_question(self) -> None:
        """A record shows no headline above its lines: the first line is the question that the headline is of."""
        shown = [given.question_id for given in self.walk.answers]
        if self.walk.at is not None:
            shown.append(self.form.questions[self.walk.at].id)
        shown += [self.form.questions[i].id for i in walker.left_for_later(self.form, self.walk)]
        assert self.form.questions[0].id in shown

    @invariant()
    def survives_storage(self) -> None:
        assert _WALK.validate_json(_WALK.dump_json(self.walk)) == self.walk


WalkedForms.TestCase.settings = settings(max_examples=400, stateful_step_count=12, deadline=None)
TestWalkedForms = pytest.mark.timeout(600)(WalkedForms.TestCase)
