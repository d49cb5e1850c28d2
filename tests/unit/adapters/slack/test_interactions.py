"""Controls that no longer fit or that this version does not know, and failures while acting: each person is told."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from answerback.core.ask import Ask, Status
from answerback.service.service import Service
from answerback_slack import inbox_view
from tests.fakes.slack import home_tab as fake_home_tab
from tests.fakes.slack.visible_message import look
from tests.fakes.slack.workspace import Message
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, Rig
from tests.unit.adapters.slack.test_inbox import opened, question, until

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}
NOTE = {"id": "note", "text": "A note?", "answer_type": "text"}


def redraw(message: Message, old: str, new: str) -> None:
    """Draw a message's controls as another version of Answerback might."""
    message.blocks = json.loads(json.dumps(message.blocks).replace(old, new))


async def with_previews(up: Rig) -> Ask:
    options = [
        {"label": "A", "description": "first", "preview": "look"},
        {"label": "B", "description": "b"},
    ]
    questions = [{"question": f"Which {n}?", "header": "Pick", "options": options} for n in (1, 2)]
    return await up.submit(name="AskUserQuestion", arguments={"questions": questions})


@pytest.mark.rule("SURFACE-10")
async def test_an_outdated_preview_is_not_opened(up: Rig) -> None:
    ask = await with_previews(up)
    copy = up.live(ask).snapshot()
    await up.ada.click(up.live(ask), "A")
    await up.shown(ask)
    await up.ada.click_on(copy, f"{LABELS.preview}: A")
    assert await up.wait_for_notes(up.ada) == [LABELS.too_late_own]
    await up.ada.click(up.live(ask), "B")
    assert (await up.shown(ask)).status is Status.ANSWERED
    await up.ada.click_on(copy, f"{LABELS.preview}: A")
    [_, ended] = await up.wait_for_notes(up.ada, 2)
    assert ended == LABELS.has_ended.format(how="Answered by @U0ADA")
    assert up.ada.modal is None


@pytest.mark.rule("SURFACE-10")
async def test_details_of_an_ask_that_is_gone_are_not_found(up: Rig) -> None:
    ask = await up.submit({**APPLY, "context": "word " * 3_000})
    redraw(up.live(ask), ask.id, "ask_gone")
    await up.ada.click(up.live(ask), LABELS.details)
    assert await up.wait_for_notes(up.ada) == [LABELS.not_found]


@pytest.mark.rule("SURFACE-10")
async def test_a_form_that_a_question_does_not_offer_is_not_opened(up: Rig) -> None:
    ask = await up.submit(NOTE)
    redraw(up.live(ask), f"{ask.id}:1:write", f"{ask.id}:1:fill")
    await up.ada.click(up.live(ask), LABELS.answer)
    assert await up.wait_for_notes(up.ada) == [LABELS.too_late_unknown]
    assert up.ada.modal is None


@pytest.mark.rule("SURFACE-10", "SURFACE-16")
@pytest.mark.parametrize(
    ("callback", "why"),
    [("ab1:{id}:1:fill", LABELS.too_late_unknown), ("ab9:{id}:1:new", LABELS.not_found)],
    ids=["a form that the question does not offer", "a form of another version"],
)
async def test_a_modal_that_cannot_be_read_gives_back_what_was_typed(
    up: Rig, callback: str, why: str
) -> None:
    ask = await up.submit(NOTE)
    await up.ada.click(up.live(ask), LABELS.answer)
    modal = await up.ada.sees_modal()
    modal.body["callback_id"] = callback.format(id=ask.id)
    assert (await up.ada.submit({LABELS.other_label: "my *text*"})).ok
    assert up.ada.modal is modal
    text = up.ada.sees(modal).text
    assert LABELS.not_sent.format(reason=why) in text
    assert "my *text*" in text.partition(LABELS.entered)[2]
    assert (await up.shown(ask)).revision == 1


@pytest.mark.rule("SURFACE-16")
async def test_a_failure_is_told_and_takes_nothing_that_was_typed(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a defect")

    ask = await up.submit(NOTE, APPLY)
    await up.ada.click(up.live(ask), LABELS.answer)
    modal = await up.ada.sees_modal()
    with monkeypatch.context() as broken_for_now:
        broken_for_now.setattr(Service, "apply", broken)
        refused = await up.ada.submit({LABELS.other_label: "kept"})
        unacknowledged = asyncio.create_task(up.ada.click(up.live(ask), LABELS.end_turn))
        assert await up.wait_for_notes(up.ada) == [LABELS.unsure]
        unacknowledged.cancel()
    assert refused.body == {"response_action": "errors", "errors": {"text.0": LABELS.unsure}}
    assert up.ada.modal is modal
    assert (await up.ada.submit()).ok
    assert (await up.shown(ask)).walk.answers[0].value == "kept"


MODAL = {"type": "modal", "callback_id": f"ab1:ask_{'0' * 24}:1:reply", "private_metadata": "[1]"}


@pytest.mark.rule("DATA-13")
@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("slash_commands", {"command": "/answerback", "user_id": "nobody"}),
        ("interactive", {"type": "view_submission", "user": {"id": "U0ADA"}, "view": MODAL}),
        ("interactive", {"type": "view_submission", "view": MODAL}),
        ("interactive", {"type": "block_actions", "actions": [{"action_id": "x"}]}),
    ],
)
async def test_odd_payloads_are_acknowledged(
    up: Rig, caplog: pytest.LogCaptureFixture, kind: str, payload: dict[str, Any]
) -> None:
    assert (await up.slack.way.send(kind, payload)).ok
    assert up.ada.private_notes(CHANNEL) == []
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


# --- Home tabs ------------------------------------------------------------------------------------


@pytest.fixture
def pages(up: Rig, monkeypatch: pytest.MonkeyPatch) -> Rig:
    """Homes with one ask on a page."""
    monkeypatch.setattr(inbox_view, "PAGE_SIZE", 1)
    up.slack.event_types |= {"app_home_opened"}
    return up


def redraw_home(up: Rig, old: str, new: str) -> None:
    """Draw Ada's Home as another version of Answerback might."""
    home = up.slack.workspace.homes[up.ada.id]
    home.body = json.loads(json.dumps(home.body).replace(old, new))


@pytest.mark.rule("SLACK-11")
async def test_the_pages_of_another_versions_home_lead_to_the_first_one(pages: Rig) -> None:
    for n in range(3):
        await pages.submit(question(f"Number {n}?"))
    await opened(pages, pages.ada, "Number 0?")
    redraw_home(pages, inbox_view.NEXT_ACTION, "later.action")
    assert (await fake_home_tab.press(pages.ada, LABELS.next)).ok
    redraw_home(pages, "later.action", inbox_view.NEXT_ACTION)
    [following] = [
        each.element["value"]
        for each in look(pages.slack.workspace.homes[pages.ada.id]).controls
        if each.label == LABELS.next
    ]
    redraw_home(pages, following, "a cursor of another version")
    published = pages.slack.count("views.publish")
    assert (await fake_home_tab.press(pages.ada, LABELS.next)).ok
    await pages.slack.until(lambda: pages.slack.count("views.publish") > published)
    await until(pages, pages.ada, "Number 0?")
    assert (await fake_home_tab.press(pages.ada, LABELS.next)).ok
    await until(pages, pages.ada, "Number 1?")


@pytest.mark.rule("SLACK-11")
async def test_a_page_that_cannot_be_stored_is_turned_by_the_next_press(pages: Rig) -> None:
    for n in range(2):
        await pages.submit(question(f"Number {n}?"))
    await opened(pages, pages.ada, "Number 0?")
    await pages.app.store.close()
    payloads = len(pages.slack.socket.wire)
    unacknowledged = asyncio.create_task(fake_home_tab.press(pages.ada, LABELS.next))
    await pages.slack.until(lambda: len(pages.slack.socket.wire) > payloads)
    unacknowledged.cancel()
    await pages.app.store.open()
    assert (await fake_home_tab.press(pages.ada, LABELS.next)).ok
    await until(pages, pages.ada, "Number 1?")


@pytest.mark.rule("BATCH-4")
async def test_a_modal_that_a_home_could_not_open_is_opened_by_the_next_press(
    pages: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_view, "PAGE_SIZE", 2)
    for command in ("ls", "pwd"):
        call = {"tool_name": "Bash", "tool_input": {"command": command}}
        await pages.submit(name="PermissionRequest", arguments=call)
    fake_home_tab.open_home(pages.ada)
    await pages.slack.until(lambda: pages.ada.id in pages.slack.workspace.homes)
    refused = pages.slack.faults.add("views.open", error="internal_error")
    assert (await fake_home_tab.press(pages.ada, LABELS.allow_several)).ok
    await pages.slack.until(lambda: refused.hits)
    assert (await fake_home_tab.press(pages.ada, LABELS.allow_several)).ok
    assert "pwd" in look(await pages.ada.sees_modal()).visible_text
