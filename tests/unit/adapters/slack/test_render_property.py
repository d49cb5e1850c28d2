"""Any ask in any state renders as a message that Slack accepts, and every word of it can be reached."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.view import View, view_of
from answerback_base.sanitize import visible
from answerback_chat.control_codec import Control, Verb, decode
from answerback_slack import modals, show_in_full
from answerback_slack.blocks import Block, sections
from answerback_slack.render import render
from tests.fakes.slack.checks import check_message, check_view, elements_of
from tests.fakes.slack.richtext import rich_text_runs
from tests.fakes.slack.schema import Problem
from tests.fakes.slack.visible_message import look
from tests.fakes.slack.workspace import Clock, Message, Snapshot, Workspace
from tests.unit.adapters.invisible_texts import INVISIBLE_TEXTS
from tests.unit.adapters.slack.asks import big_asks

LABELS = Labels()
_OPENING = {
    Verb.WRITE,
    Verb.OTHER,
    Verb.FILL,
    Verb.REPLY,
    Verb.SHOW_IN_FULL,
    Verb.PREVIEW,
    Verb.CHOOSE,
    Verb.NOTE,
}


def arguments(view: View) -> dict[str, object]:
    """The arguments for chat.postMessage."""
    message = render(view, LABELS)
    payload = {"channel": "C1", "text": message.text, "blocks": message.blocks}
    return json.loads(json.dumps(payload))  # type: ignore[no-any-return]


def refusals(view: Block) -> list[Problem]:
    """Return the problems that Slack would reject in a modal."""
    sent = json.dumps(view)
    return check_view(json.loads(sent), foreign=len(sent) < 8_000)


def controls_of(blocks: list[Block]) -> list[Control]:
    """All controls in the buttons of a message."""
    found = [decode(element.get("value")) for element in elements_of(blocks)]
    return [control for control in found if control is not None]


@pytest.mark.rule("SLACK-5")
@given(big_asks())
def test_any_ask_is_a_message_within_slacks_rules(ask: Ask) -> None:
    payload = arguments(view_of(ask))
    foreign = len(json.dumps(payload)) < 60_000  # the foreign judges are slow on a thousand options
    assert not check_message(payload, update=True, foreign=foreign)
    if ask.open:
        assert {c.verb for c in controls_of(render(view_of(ask), LABELS).blocks)} >= {
            Verb.REPLY,
            Verb.END_TURN,
        }


@pytest.mark.rule("SLACK-5", "SLACK-15")
@settings(max_examples=settings().max_examples // 4)
@given(big_asks())
def test_a_collapsed_record_is_within_slacks_rules_and_has_every_word(ask: Ask) -> None:
    flat, folded = (
        render(view_of(ask), LABELS, collapse_long_records=collapse_long_records)
        for collapse_long_records in (False, True)
    )
    folded = replace(folded, blocks=json.loads(json.dumps(folded.blocks)))
    arguments = {"channel": "C1", "text": folded.text, "blocks": folded.blocks}
    assert not check_message(arguments, update=True, foreign=False)
    inside = [block.get("child_blocks", [block]) for block in folded.blocks]
    assert [each for blocks in inside for each in blocks] == flat.blocks  # type: ignore[attr-defined]


@pytest.mark.rule("SLACK-5")
@settings(max_examples=settings().max_examples // 2)
@given(big_asks())
def test_any_modal_that_a_message_can_open_is_within_slacks_rules(ask: Ask) -> None:
    view = view_of(ask)
    for control in controls_of(render(view, LABELS).blocks):
        if control.verb in _OPENING:
            opened = modals.build_modal(view, control, LABELS, '["C1", "1.0", null]')
            assert opened is not None
            assert refusals(opened) == [], control.verb
    for page in pages_in_full(view):
        assert refusals(page) == []


@pytest.mark.rule("TEXT-2")
@given(big_asks())
def test_every_word_of_an_ask_is_in_the_message_or_one_click_away(ask: Ask) -> None:
    view = view_of(ask)
    message = render(view, LABELS)
    blocks = Workspace(Clock()).fill_ids(message.blocks)
    shown = squeezed(look(Snapshot("C1", {"ts": "1", "text": "", "blocks": blocks})).visible_text)
    controls = controls_of(message.blocks)
    if any(control.verb is Verb.SHOW_IN_FULL for control in controls):
        shown = "".join(
            squeezed(run.text)
            for page in pages_in_full(view)
            for block in page["blocks"]  # type: ignore[attr-defined]
            if block["type"] == "rich_text"
            for run in rich_text_runs(block)
        )
    for text in everything_said(view):
        assert squeezed(text) in shown, text[:200]


def pages_in_full(view: View) -> list[Block]:
    pages: list[Block] = []
    while (page := show_in_full.full_text_modal(view, LABELS, len(pages), "[]")) not in pages:
        pages.append(page)
    return pages


def everything_said(view: View) -> list[str]:
    """Every text of an agent or person in a view."""
    said: list[str | None] = [view.reply]
    if view.prompt is not None:
        question = view.prompt.question
        said += [question.text, question.context, question.header]
        said += [part for o in question.options for part in (o.label, o.description)]
        if isinstance(view.prompt.prefill, str) and not question.options:
            said.append(view.prompt.prefill)
    for line in view.lines:
        said.append(line.question.text)
        if line.given is not None and isinstance(line.given.value, str):
            option = None if line.given.other else line.question.option(line.given.value)
            said.append(option.label if option else line.given.value)
    return [text for text in said if text and text.strip()]


def squeezed(text: str) -> str:
    """A text's visible characters, without white space."""
    return "".join(visible(text).split())


@settings(max_examples=settings().max_examples // 2)
@given(INVISIBLE_TEXTS)
def test_invisible_characters_are_shown_in_full_like_any_other_text(text: str) -> None:
    shown = "".join(str(each["text"]["text"]) for each in json.loads(json.dumps(sections(text))))
    assert "".join(shown.split()) == "".join(visible(text).split())


@pytest.mark.rule("TEXT-1")
@given(big_asks())
def test_nothing_in_a_message_reaches_or_misleads_anybody(ask: Ask) -> None:
    message = render(view_of(ask), LABELS)
    blocks = Workspace(Clock()).fill_ids(json.loads(json.dumps(message.blocks)))
    sight = look(Message("C1", "1.0", "U0BOT", message.text, blocks))
    assert sight.mentions == []
    assert sight.links == []
