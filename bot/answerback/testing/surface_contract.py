"""One suite for every surface: a person who reads what is shown walks random forms, beside the naive model.

A surface brings a `Desk`: a person in front of it who does everything by what they can see. After
every action the stored ask, the model and what the person reads must agree.
"""

from __future__ import annotations

import re
from typing import Protocol

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core.answers import json_equal
from answerback.core.ask import Ask
from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import Labels
from answerback.core.view import Prompt, View, texts_of, view_of
from answerback.testing.strategies import forms, texts, values
from answerback.testing.walker_model import NaiveWalk
from answerback_chat.sanitize import visible

STEPS = 7
"""The most actions in one walk before somebody ends it."""


class Desk(Protocol):
    """A person in front of a surface, and the store behind it.

    Every action waits until the surface has answered and shows the new state.
    """

    live: bool
    """Whether there is a live message, as `answerback.ports.surface.Surface.live` says."""

    async def opens(self, form: Form) -> str:
        """An ask of this form, shown; its id."""

    async def stored(self, ask_id: str) -> Ask:
        """The ask as it stands."""

    async def reads(self, ask_id: str) -> str:
        """Everything that the person can read of the ask: the message, what its menus offer, "Show in full"."""

    def offers(self, ask_id: str) -> set[str]:
        """Which of back, reply, end_turn, submit and other can be used."""

    async def starts_from(self, question: Question) -> JsonValue:
        """The value that the controls of the open question show as chosen or filled in; None: nothing."""

    async def answers(self, question: Question, value: JsonValue) -> None:
        """Answers the open question."""

    async def writes_other(self, text: str) -> None:
        """Answers by "Something else…"."""

    async def goes_back(self) -> None:
        """Uses Back."""

    async def edits(self, ask: Ask, question: Question) -> None:
        """In the review: uses Edit for a question."""

    async def submits(self) -> None:
        """In the review: uses Submit."""

    async def replies(self, text: str | None) -> None:
        """Uses Reply, with words or without."""

    async def ends_turn(self) -> None:
        """Uses End Turn, and confirms it."""


class SurfaceContract:
    """Inherited by the tests of each surface, which bring a fixture ``desk``."""

    # A walk over real sockets is too slow to be shrunk; the seed is derandomised, so it can be repeated.
    @pytest.mark.rule("WALK-5", "SURFACE-6", "CARE-4")
    @settings(
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        max_examples=20,
        deadline=None,
    )
    @given(form=forms(most=4), data=st.data())
    async def test_a_person_walks_any_form_as_the_model_does(
        self, desk: Desk, form: Form, data: st.DataObject
    ) -> None:
        model = NaiveWalk(form)
        ask_id = await desk.opens(form)
        await self._agree(desk, ask_id, model)
        for left in range(STEPS, -1, -1):
            if model.phase() not in {"question", "review"}:
                break
            await self._act(desk, ask_id, model, data, end=left == 0)
            await self._agree(desk, ask_id, model)

    async def _act(
        self, desk: Desk, ask_id: str, model: NaiveWalk, data: st.DataObject, *, end: bool
    ) -> None:
        kinds = ["reply", "end_turn"] if end else ["on"] * 5
        offered = desk.offers(ask_id)
        kinds += ["back"] * (not end and "back" in offered)
        kinds += ["other"] * (not end and "other" in offered)
        kind = data.draw(st.sampled_from(kinds))
        question = model.current()
        if kind == "back":
            await desk.goes_back()
            assert model.back()
        elif kind == "reply":
            words = data.draw(st.none() | texts())
            await desk.replies(words)
            model.end("cancelled", words)
        elif kind == "end_turn":
            await desk.ends_turn()
            model.end("turn_ended")
        elif kind == "other":
            text = data.draw(texts())
            prompt = view_of(await desk.stored(ask_id)).prompt
            assert prompt is not None
            await desk.writes_other(text)
            model.answer(with_words(prompt, text))
        elif question is not None:
            value = _enterable(data.draw(values(question)))
            await desk.answers(question, value)
            model.answer(value)
        else:
            await self._review(desk, ask_id, model, data)

    async def _review(self, desk: Desk, ask_id: str, model: NaiveWalk, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from([None, *model.given]))
        if chosen is None:
            await desk.submits()
            model.end("answered")
            return
        question = next(q for q in model.form.questions if q.id == chosen)
        await desk.edits(await desk.stored(ask_id), question)
        assert model.edit(chosen)

    async def _agree(self, desk: Desk, ask_id: str, model: NaiveWalk) -> None:
        ask = await desk.stored(ask_id)
        assert ask.walk.phase == model.phase()
        assert {given.question_id for given in ask.walk.answers} == set(model.given)
        for given_ in ask.walk.answers:
            assert json_equal(given_.value, model.given[given_.question_id])
        assert not desk.live or ask.shown_revision == ask.revision
        read = squeezed(await desk.reads(ask_id))
        for words in said(view_of(ask)):
            assert squeezed(words) in read, (words, read)
        wanted = {"reply", "end_turn"} if ask.open else set()
        wanted |= {"back"} if ask.open and model.can_go_back() else set()
        wanted |= {"submit"} if model.phase() == "review" else set()
        assert desk.offers(ask_id) - {"other"} == wanted
        question = model.current()
        if question is not None and not isinstance(model.prefill, dict):
            again = ask.walk.again
            start = await desk.starts_from(question)
            if not (again and again.other):
                assert json_equal(start, _shown_start(question, model.prefill))


def with_words(prompt: Prompt, text: str) -> JsonValue:
    """The answer that words of one's own make, beside the ticks that the prompt starts from."""
    if not prompt.question.other_beside:
        return text
    return [*(prompt.chosen if isinstance(prompt.chosen, list) else []), text]


def _enterable(value: JsonValue) -> JsonValue:
    """What native inputs can yield of a value: they have no place for what a schema does not name."""
    return {"n": value["n"]} if isinstance(value, dict) and "n" in value else value


def _shown_start(question: Question, prefill: JsonValue) -> JsonValue:
    """Nothing and an empty text or choice look alike."""
    if question.answer_type is AnswerType.TEXT:
        return prefill or None
    return prefill or None if question.answer_type is AnswerType.MULTI_SELECT else prefill


def squeezed(text: str) -> str:
    """A text as it is shown, without blanks, which surfaces set as they like."""
    return re.sub(r"\s", "", visible(text))


def said(view: View) -> list[str]:
    """Everything that the agent and the people have said in what a view shows."""
    found: list[str] = [view.reply or ""]
    if view.prompt is not None:
        question = view.prompt.question
        found += [question.text, question.context or "", question.header or ""]
        for option in question.options:
            found += [option.label, option.description or ""]
    for line in view.lines:
        found.append(line.question.text)
        found += texts_of(line.question, line.given, Labels()) if line.given else []
    return found
