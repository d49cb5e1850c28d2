"""Any valid form renders within Discord's rules in every state, and all of its text can be read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.form import AnswerType, Form
from answerback.core.labels import Labels
from answerback.core.view import View, answer_lines, view_of
from answerback.presentation.form_values import read_form
from answerback_chat.control_codec import Verb, decode
from answerback_discord import form_inputs, long_lists, modals, render, show_in_full
from answerback_discord.components import Json
from answerback_discord.option_controls import ListState
from answerback_testing import strategies
from tests.fakes.discord.rules import check_callback, check_message, check_modal
from tests.unit.adapters.discord import sight
from tests.unit.adapters.discord.examples import ask_of, large_forms, question, walked
from tests.unit.adapters.invisible_texts import INVISIBLE_TEXTS

LABELS = Labels()
ASKS = walked(st.one_of(strategies.forms(), large_forms()))
MANY = settings(max_examples=60)


@pytest.mark.rule("DISCORD-5")
@MANY
@given(ASKS, st.integers(0, 3))
def test_every_state_of_any_form_renders_within_discords_rules(ask: Ask, page: int) -> None:
    view = view_of(ask)
    for message in (
        render.message(view, LABELS),
        render.plain(view, LABELS),
    ):
        assert check_message(message) == []
        assert (
            check_message(message, schema="MessageEditRequestPartial", old={"flags": 32768}) == []
        )
        assert message["allowed_mentions"] == {"parse": []}
    if view.is_review or (view.prompt and view.prompt.question.options):
        for look in (ListState(page=page), ListState(found=tuple(range(page)), query="w")):
            for note in ("", LABELS.selection_changed):
                listed = long_lists.render_option_list(view, LABELS, look, note)
                assert check_callback({"type": 4, "data": listed}) == []


@pytest.mark.rule("TEXT-2")
@MANY
@given(ASKS)
def test_every_word_is_in_the_message_or_one_click_away(ask: Ask) -> None:
    view = view_of(ask)
    message = render.message(view, LABELS)
    controls = [decode(each) for each in sight.controls_of(message)]
    verbs = {control.verb for control in controls if control}
    seen = sight.texts_of(message)
    if Verb.SHOW_IN_FULL in verbs:
        seen += full_text(view, Verb.SHOW_IN_FULL)
    if Verb.PREVIEW in verbs:
        seen += full_text(view, Verb.PREVIEW) + full_text(view, Verb.SHOW_IN_FULL)
    if view.prompt is not None and Verb.PAGE in verbs:
        for page in range(50):
            seen += sight.texts_of(
                long_lists.render_option_list(view, LABELS, ListState(page=page))
            )
    shown = sight.strip_layout("".join(seen))
    for text in said(view):
        assert sight.strip_layout(text) in shown, text


@settings(max_examples=settings().max_examples // 2)
@given(INVISIBLE_TEXTS.filter(lambda text: bool(text.strip())))
def test_invisible_texts_are_within_discords_rules(text: str) -> None:
    view = view_of(ask_of(Form(questions=(question(AnswerType.TEXT, text=text[:20_000]),))))
    assert check_message(render.message(view, LABELS)) == []
    assert sight.strip_layout(text[:20_000]) in sight.strip_layout(
        "".join(full_text(view, Verb.SHOW_IN_FULL))
    )


@pytest.mark.rule("SURFACE-4")
@MANY
@given(ASKS)
def test_an_ended_ask_has_no_control_but_show_in_full(ask: Ask) -> None:
    view = view_of(ask)
    controls = [decode(each) for each in sight.controls_of(render.message(view, LABELS))]
    if not ask.open:
        assert {control.verb for control in controls if control} <= {Verb.SHOW_IN_FULL}
    else:
        verbs = [control.verb for control in controls if control]
        assert Verb.REPLY in verbs
        assert Verb.END_TURN in verbs
        assert (Verb.BACK in verbs) == ("back" in view.controls)


@pytest.mark.rule("DISCORD-5")
@MANY
@given(ASKS)
def test_every_modal_that_a_prompt_opens_is_within_discords_rules(ask: Ask) -> None:
    view = view_of(ask)
    for verb in (Verb.WRITE, Verb.FILL, Verb.OTHER, Verb.REPLY, Verb.SEARCH):
        sheet = form_inputs.modal_spec(view, verb, LABELS)
        for page in range(len(sheet.pages()) if sheet else 0):
            assert sheet is not None
            data = modals.modal(view, sheet, verb, page, {}, "abcd1234", LABELS)
            assert check_modal(data) == []
            assert check_callback({"type": 9, "data": data}) == []


@pytest.mark.rule("SURFACE-8")
@MANY
@given(ASKS)
def test_submitting_an_unchanged_modal_returns_the_prefill(ask: Ask) -> None:
    view = view_of(ask)
    prompt = view.prompt
    if prompt is None or prompt.prefill is None or prompt.other_text is not None:
        return
    kinds = {AnswerType.TEXT: Verb.WRITE, AnswerType.SCHEMA: Verb.FILL}
    verb = kinds.get(prompt.question.answer_type)
    if verb is None:
        return
    sheet = form_inputs.modal_spec(view, verb, LABELS)
    assert sheet is not None
    unchanged = {each.id: each.start for each in sheet.form.inputs}
    assert read_form(sheet.form, unchanged, prompt) == Answer(value=prompt.prefill)


def full_text(view: View, verb: Verb) -> list[str]:
    """All pages of a private message, read by clicking Next to the end."""
    seen: list[str] = []
    number, last = 0, False
    while not last:
        message = show_in_full.page(view, verb, number, LABELS)
        assert check_callback({"type": 4, "data": message}) == []
        seen += first_texts(message)
        number += 1
        last = not any(
            control and control.argument == str(number)
            for control in map(decode, sight.controls_of(message))
        )
    return seen


def first_texts(message: Json) -> list[str]:
    return sight.texts_of(message)[:1]


def said(view: View) -> Iterator[str]:
    """Everything that the agent and the people have said in what a view shows."""
    if view.prompt is not None:
        question = view.prompt.question
        yield from (question.text, question.context or "", question.header or "")
        for option in question.options:
            yield from (option.label, option.description or "", option.preview or "")
    for line in view.lines:
        yield line.question.text
        if line.given is not None:
            yield from answer_lines(line.question, line.given, Labels())
    yield view.reply or ""
