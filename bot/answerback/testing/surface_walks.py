"""A person who reads what is shown walks random forms, beside the naive model.

After every action the stored ask, the model and what the person reads must agree.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core import markdown
from answerback.core.answers import json_equal
from answerback.core.ask import Ask, Status
from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import Labels
from answerback.core.view import Prompt, View, answer_lines, view_of
from answerback.testing.simulated_people import SimulatedPerson, Stage
from answerback.testing.strategies import forms, texts, values
from answerback.testing.surface_questions import GO, LABELS, WHERE, WHY
from answerback.testing.walker_model import NaiveWalk
from answerback_chat.sanitize import visible

STEPS = 7
"""The most actions in one walk before somebody ends it."""


class RecordContract:
    """What is left of a walk."""

    @pytest.mark.rule("SURFACE-1", "SURFACE-4")
    async def test_when_an_ask_ends_its_message_is_the_record(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        form = Form(questions=(GO, WHERE, WHY))
        ask = await stage.harness.create_ask(form, stage.place, (ada.user_id,))
        await assert_sees(ada, ask)
        for question, value in (
            (GO, True),
            (WHERE, "s"),
            (None, None),
            (WHERE, "p"),
            (WHY, "*so*"),
        ):
            await (ada.answer(question, value) if question else ada.go_back())
            await assert_sees(ada, await stage.harness.wait_until_shown(ask.id))
        ended = await stage.harness.wait_until_shown(ask.id)
        assert [given.value for given in ended.walk.answers] == [True, "p", "*so*"]
        assert (ended.status, ended.message) == (Status.ANSWERED, ask.message)
        by = LABELS.by.format(name=ada.name)
        assert strip_whitespace(f"{LABELS.answered} {by}") in strip_whitespace(
            await ada.read_all_text()
        )


class WalksContract:
    """Every form can be walked on every surface, in every state."""

    # A walk over real sockets is too slow to be shrunk; the seed is derandomised, so it can be repeated.
    @pytest.mark.rule("WALK-5", "SURFACE-6", "CARE-4")
    @settings(
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        max_examples=20,
        deadline=None,
        derandomize=True,
    )
    @given(form=forms(most=4), data=st.data())
    async def test_a_person_walks_any_form_as_the_model_does(
        self, stage: Stage, ada: SimulatedPerson, form: Form, data: st.DataObject
    ) -> None:
        model = NaiveWalk(form)
        ask = await stage.harness.create_ask(form, stage.place, (ada.user_id,))
        await assert_consistent(ada, ask, model)
        for left in range(STEPS, -1, -1):
            if model.phase() not in {"question", "review"}:
                break
            await _act(ada, ask, model, data, end=left == 0)
            ask = await stage.harness.wait_until_shown(ask.id)
            await assert_consistent(ada, ask, model)


async def _act(
    desk: SimulatedPerson, ask: Ask, model: NaiveWalk, data: st.DataObject, *, end: bool
) -> None:
    kinds = ["reply", "end_turn"] if end else ["on"] * 5
    offered = desk.available_actions()
    kinds += ["back"] * (not end and "back" in offered)
    kinds += ["other"] * (not end and "other" in offered)
    kind = data.draw(st.sampled_from(kinds))
    question = model.current()
    if kind == "back":
        await desk.go_back()
        assert model.back()
    elif kind == "reply":
        words = data.draw(st.none() | texts())
        await desk.reply(words)
        model.end("cancelled", words)
    elif kind == "end_turn":
        await desk.end_turn()
        model.end("turn_ended")
    elif kind == "other":
        text = data.draw(texts())
        prompt = view_of(ask).prompt
        assert prompt is not None
        await desk.answer_other(text)
        model.answer(answer_with_own_words(prompt, text))
    elif question is not None:
        value = _enterable(data.draw(values(question)))
        await desk.answer(question, value)
        model.answer(value)
    else:
        await _review(desk, ask, model, data)


async def _review(desk: SimulatedPerson, ask: Ask, model: NaiveWalk, data: st.DataObject) -> None:
    chosen = data.draw(st.sampled_from([None, *model.given]))
    if chosen is None:
        await desk.submit()
        model.end("answered")
        return
    question = next(q for q in model.form.questions if q.id == chosen)
    await desk.edit(ask, question)
    assert model.edit(chosen)


async def assert_consistent(desk: SimulatedPerson, ask: Ask, model: NaiveWalk) -> None:
    """The stored ask, the model and what a person sees are the same."""
    assert ask.walk.phase == model.phase()
    assert {one.question_id for one in ask.walk.answers} == set(model.given)
    for one in ask.walk.answers:
        assert json_equal(one.value, model.given[one.question_id])
    assert ask.shown_revision == ask.revision or ask.message is None
    await assert_sees(desk, ask)
    assert ("back" in desk.available_actions()) is model.can_go_back()
    assert ("submit" in desk.available_actions()) is (model.phase() == "review")
    question = model.current()
    if question is not None and not isinstance(model.prefill, dict):
        again = ask.walk.again
        start = await desk.read_prefill(question)
        if not (again and again.other):
            assert json_equal(start, _shown_start(question, model.prefill))


async def assert_sees(desk: SimulatedPerson, ask: Ask) -> None:
    """A person who looks can read all that was said, and has the controls of the state that is stored."""
    await desk.look_at(ask)
    read, view = strip_whitespace(await desk.read_all_text()), view_of(ask)
    unread = [
        [words for words in found if not any(as_shown in read for as_shown in shown_forms(words))]
        for found in (conversation_texts(view), conversation_texts(view, verbatim=True))
    ]
    assert [] in unread, (unread, read)
    wanted = {control.value for control in view.controls} | (
        {"submit"} if view.is_review else set()
    )
    assert desk.available_actions() - {"other"} == wanted


def answer_with_own_words(prompt: Prompt, text: str) -> JsonValue:
    """The answer that words of one's own make, beside the selection that the prompt starts from."""
    chosen = prompt.chosen if isinstance(prompt.chosen, list) else []
    return [*chosen, text] if prompt.question.other_beside else text


def _enterable(value: JsonValue) -> JsonValue:
    """What native inputs can yield of a value: they have no place for what a schema does not name."""
    return {"n": value["n"]} if isinstance(value, dict) and "n" in value else value


def _shown_start(question: Question, prefill: JsonValue) -> JsonValue:
    """Nothing and an empty text or choice look alike."""
    if question.answer_type is AnswerType.TEXT:
        return prefill or None
    return prefill or None if question.answer_type is AnswerType.MULTI_SELECT else prefill


def strip_whitespace(text: str) -> str:
    """A text as it is shown, without blanks, which surfaces set as they like."""
    return re.sub(r"\s", "", visible(text))


def shown_forms(words: str) -> tuple[str, str]:
    """How words are shown by themselves, and behind others: a combining mark is shown by its number only alone."""
    return strip_whitespace(words), strip_whitespace(f"-{words}").removeprefix("-")


def conversation_texts(view: View, *, verbatim: bool = False) -> list[str]:
    """Everything that the agent and the people have said in what a view shows.

    Args:
        verbatim: the context as it is written, for a surface that does not draw Markdown.
    """
    found: list[str] = [view.reply or ""]
    if view.prompt is not None:
        question = view.prompt.question
        written = question.context or ""
        drawn = markdown.blocks_to_text(markdown.parse_context(written, view.prompt.context_format))
        context = written if verbatim else drawn
        found += [question.text, question.header or "", *context.split()]
        for option in question.options:
            found += [option.label, option.description or ""]
    for line in view.lines:
        found.append(line.question.text)
        found += answer_lines(line.question, line.given, Labels()) if line.given else []
    return found
