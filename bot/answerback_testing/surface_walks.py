"""Contract tests in which a person walks random forms in parallel with the naive model.

After every action, the stored ask, the model and what the person reads must agree.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core import markdown
from answerback.core.ask import Ask, Status
from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import Labels
from answerback.core.view import Prompt, View, answer_lines, view_of
from answerback_base.sanitize import visible
from answerback_base.strict_json import json_equal
from answerback_testing.simulated_people import SimulatedPerson, Stage
from answerback_testing.strategies import forms, texts, values
from answerback_testing.surface_questions import GO, LABELS, WHERE, WHY
from answerback_testing.walker_model import NaiveWalk

STEPS = 7
"""The maximum number of actions in one walk before the person ends it."""


class RecordContract:
    """Contract of the message of an ended ask."""

    @pytest.mark.rule("SURFACE-1", "SURFACE-4")
    async def test_when_an_ask_ends_its_message_is_the_record(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        form = Form(questions=(GO, WHERE, WHY))
        ask = await stage.harness.create_ask(form, stage.place, (ada.user_id,))
        await assert_sees(ada, ask)
        steps = ((GO, True), (WHERE, "s"), (None, None), (WHERE, "p"), (WHY, "*so*"))
        for question, value in steps:
            await (ada.answer(question, value) if question else ada.go_back())
            await assert_sees(ada, await stage.harness.wait_until_shown(ask.id))
        ended = await stage.harness.wait_until_shown(ask.id)
        assert [given.value for given in ended.walk.answers] == [True, "p", "*so*"]
        assert (ended.status, ended.placement.message) == (Status.ANSWERED, ask.placement.message)
        said = strip_whitespace(f"{LABELS.answered} {LABELS.by.format(name=ada.name)}")
        assert said in strip_whitespace(await ada.read_all_text())


class WalksContract:
    """Every form can be walked on every surface, in every state."""

    # A walk over real sockets is too slow to shrink; examples are derandomised, so that failures are repeatable.
    @pytest.mark.rule("WALK-5", "SURFACE-6", "CARE-4")
    @settings(
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        max_examples=12,
        deadline=None,
        derandomize=True,
    )
    @given(form=forms(most=4), data=st.data())
    async def test_a_person_walks_any_form_like_the_model(
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
    person: SimulatedPerson, ask: Ask, model: NaiveWalk, data: st.DataObject, *, end: bool
) -> None:
    kinds = ["reply", "end_turn"] if end else ["on"] * 5
    offered = person.available_actions()
    kinds += ["back"] * (not end and "back" in offered)
    kinds += ["other"] * (not end and "other" in offered)
    kind = data.draw(st.sampled_from(kinds))
    # What becomes of a prefilled text beside other ticks differs between surfaces.
    is_text = ask.walk.again is not None and ask.walk.again.other
    kind = "other" if kind == "on" and is_text else kind
    question = model.current()
    if kind == "back":
        await person.go_back()
        assert model.back()
    elif kind == "reply":
        message = data.draw(st.none() | texts())
        await person.reply(message)
        model.end("cancelled", message)
    elif kind == "end_turn":
        await person.end_turn()
        model.end("turn_ended")
    elif kind == "other":
        text = data.draw(texts()).strip()  # as some platforms do
        prompt = view_of(ask).prompt
        assert prompt is not None
        await person.answer_other(text)
        model.answer(answer_with_other(prompt, text))
    elif question is not None:
        value = _enterable(data.draw(values(question)))
        await person.answer(question, value)
        model.answer(value)
    else:
        await _review(person, ask, model, data)


async def _review(person: SimulatedPerson, ask: Ask, model: NaiveWalk, data: st.DataObject) -> None:
    chosen = data.draw(st.sampled_from([None, *model.given]))
    if chosen is None:
        await person.submit()
        model.end("answered")
        return
    question = next(q for q in model.form.questions if q.id == chosen)
    await person.edit(ask, question)
    assert model.edit(chosen)


async def assert_consistent(person: SimulatedPerson, ask: Ask, model: NaiveWalk) -> None:
    """Assert that the stored ask, the model and what a person sees agree."""
    assert ask.walk.phase == model.phase()
    assert {answer.question_id for answer in ask.walk.answers} == set(model.given)
    for answer in ask.walk.answers:
        assert json_equal(answer.value, model.given[answer.question_id].value)
    assert ask.placement.shown_revision == ask.revision or ask.placement.message is None
    await assert_sees(person, ask)
    assert ("back" in person.available_actions()) is model.can_go_back()
    assert ("submit" in person.available_actions()) is (model.phase() == "review")
    question = model.current()
    is_other = ask.walk.again is not None and ask.walk.again.other
    if question is not None and not is_other and not isinstance(model.prefill, dict):
        prefill: JsonValue = model.prefill
        start = await person.read_prefill(question)
        assert json_equal(start, _visible_prefill(question, prefill))


async def assert_sees(person: SimulatedPerson, ask: Ask) -> None:
    """Assert that a person can read everything that was said, and has the controls of the stored state."""
    await person.look_at(ask)
    visible_text, view = strip_whitespace(await person.read_all_text()), view_of(ask)
    missing = [
        [text for text in said if not any(form in visible_text for form in shown_forms(text))]
        for said in (conversation_texts(view), conversation_texts(view, verbatim=True))
    ]
    assert [] in missing, (missing, visible_text)
    expected = {control.value for control in view.controls}
    expected |= {"submit"} if view.is_review else set()
    expected |= {"hand_over"} if view.recipients is not None else set()
    # A page, which knows its reader, offers these only to those who may use them.
    personal = {"confirm", "back"} if view.confirmation is not None else set()
    assert (person.available_actions() - {"other"}) | personal == expected


def answer_with_other(prompt: Prompt, text: str) -> JsonValue:
    """Return the answer given by "Something else…", together with the prefilled selection if both count."""
    chosen = prompt.chosen if isinstance(prompt.chosen, list) else []
    return [*chosen, text] if prompt.question.other_beside else text


def _enterable(value: JsonValue) -> JsonValue:
    """Reduce a value to what native inputs can produce: they have no field for properties not in the schema."""
    return {"n": value["n"]} if isinstance(value, dict) and "n" in value else value


def _visible_prefill(question: Question, prefill: JsonValue) -> JsonValue:
    """Reduce a prefill to what is visible: an empty text or selection looks like none."""
    if question.answer_type is AnswerType.TEXT:
        return prefill or None
    return prefill or None if question.answer_type is AnswerType.MULTI_SELECT else prefill


def strip_whitespace(text: str) -> str:
    """Return a text as displayed but without whitespace, which differs between surfaces."""
    return re.sub(r"\s", "", visible(text))


def shown_forms(text: str) -> tuple[str, str]:
    """Return a text as displayed on its own and after other text: only on its own is a combining mark spelled out."""
    return strip_whitespace(text), strip_whitespace(f"-{text}").removeprefix("-")


def conversation_texts(view: View, *, verbatim: bool = False) -> list[str]:
    """Return all texts of the agent and the people in a view.

    Args:
        verbatim: whether to return the context's source, for a surface that does not render Markdown.
    """
    said: list[str] = [view.reply or ""]
    if view.prompt is not None:
        question = view.prompt.question
        source = question.context or ""
        rendered = markdown.blocks_to_text(
            markdown.parse_context(source, view.prompt.context_format)
        )
        context = source if verbatim else rendered
        said += [question.text, question.header or "", *context.split()]
        for option in question.options:
            said += [option.label, option.description or ""]
    for line in view.lines:
        said.append(line.question.text)
        said += answer_lines(line.question, line.given, Labels()) if line.given else []
    return said
