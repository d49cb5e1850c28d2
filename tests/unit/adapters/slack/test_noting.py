"""Notes that go with a selection, for tools whose result can hold them."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.ask import Ask, Status
from answerback.service.submission_request import Submission
from tests.fakes.slack.visible_message import look
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, Rig

OPTIONS = [
    {"label": "Postgres", "description": "Runs already."},
    {"label": "SQLite", "description": "One file."},
]


async def asked(up: Rig, *questions: dict[str, Any]) -> Ask:
    """Submit a call of Claude Code's tool."""
    body = {
        "name": "AskUserQuestion",
        "arguments": {"questions": [*questions]},
        "to": f"slack:{CHANNEL}",
        "responders": [up.ada.id],
    }
    submitted = await up.app.service.submit(Submission.model_validate(body))
    return await up.shown(submitted.ask)


def question(text: str = "Which store?", **more: Any) -> dict[str, Any]:
    return {"question": text, "header": "Store", "options": OPTIONS, **more}


@pytest.mark.rule("SLACK-13")
async def test_a_note_goes_with_the_selected_option(up: Rig) -> None:
    ask = await asked(up, question())
    await up.ada.click(up.live(ask), LABELS.answer_with_note)
    modal = await up.ada.sees_modal()
    await up.ada.choose(modal, "SQLite")
    assert (await up.ada.submit({LABELS.note_label: "Only for the trial."})).ok
    ask = await up.shown(ask)
    assert ask.status is Status.ANSWERED
    [given] = ask.walk.answers
    assert (given.value, given.note) == ("SQLite", "Only for the trial.")
    assert "Note: Only for the trial." in up.ada.sees(up.live(ask)).text
    assert look(modal).text.startswith(LABELS.answer_with_note)


@pytest.mark.rule("SLACK-13")
async def test_several_options_can_have_a_note_and_an_empty_note_is_none(up: Rig) -> None:
    ask = await asked(up, question(multiSelect=True))
    await up.ada.click(up.live(ask), LABELS.answer_with_note)
    modal = await up.ada.sees_modal()
    await up.ada.check(modal, ["Postgres", "SQLite"])
    assert (await up.ada.submit({LABELS.note_label: "  "})).ok
    [given] = (await up.shown(ask)).walk.answers
    assert (given.value, given.note) == (["Postgres", "SQLite"], None)


@pytest.mark.rule("SLACK-13")
async def test_a_note_alone_is_not_an_answer(up: Rig) -> None:
    ask = await asked(up, question())
    await up.ada.click(up.live(ask), LABELS.answer_with_note)
    modal = await up.ada.sees_modal()
    menu = next(c for c in look(modal).controls if c.kind == "radio_buttons")
    payload = up.slack.interactivity.submission(up.ada.user, modal)
    ack = await up.slack.interact(payload)  # a client that did not ask for the option
    errors = (ack.body or {})["errors"]
    assert errors == {menu.block_id: LABELS.choose_first.format(submit=LABELS.submit)}
    assert (await up.shown(ask)).open


@pytest.mark.rule("SLACK-13")
async def test_back_offers_the_note_again(up: Rig) -> None:
    ask = await asked(up, question(), question("And the cache?"))
    await up.ada.click(up.live(ask), LABELS.answer_with_note)
    await up.ada.choose(await up.ada.sees_modal(), "SQLite")
    await up.ada.submit({LABELS.note_label: "Only for the trial."})
    ask = await up.shown(ask)
    await up.ada.click(up.live(ask), LABELS.back)
    ask = await up.shown(ask)
    await up.ada.click(up.live(ask), LABELS.answer_with_note)
    modal = await up.ada.sees_modal()
    [entry] = [c for c in look(modal).controls if c.label == LABELS.note_label]
    assert entry.element["initial_value"] == "Only for the trial."
    assert (await up.ada.submit()).ok
    [given] = (await up.shown(ask)).walk.answers
    assert given.note == "Only for the trial."


@pytest.mark.rule("SLACK-13")
async def test_no_note_is_offered_if_the_result_cannot_hold_it(up: Rig) -> None:
    plain = {"id": "q", "text": "Which?", "answer_type": "select", "options": ["a", "b"]}
    ask = await up.submit(plain)
    assert LABELS.answer_with_note not in up.ada.sees(up.live(ask)).buttons
