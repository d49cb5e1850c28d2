"""The inbox in which permissions are ticked, and decided together."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.labels import Labels
from answerback.service.submission_request import Submission
from tests.fakes.telegram.world import Message
from tests.unit.adapters.telegram.rig import Rig, rig
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press, send_click

LABELS = Labels()


async def ask_permission(at: Rig, command: str) -> Ask:
    body = {
        "name": "PermissionRequest",
        "dialect": "approval",
        "arguments": {"tool_name": "Bash", "tool_input": {"command": command}},
        "to": f"telegram:{at.group.id}",
        "responders": [str(at.ann.id)],
    }
    return await at.shown((await at.service.submit(Submission.model_validate(body))).ask)


async def press_and_see(at: Rig, inbox: Message, data: str) -> None:
    """Press a button; return once the message has changed."""
    version = inbox.version
    await send_click(at, at.ann, inbox, data)
    await at.telegram.until(lambda: inbox.version > version)


@pytest.mark.rule("BATCH-5")
async def test_a_button_that_was_pressed_before_a_tick_was_shown_decides_nothing(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        asks = [await ask_permission(at, command) for command in ("make a", "make b")]
        own = at.telegram.chats[at.ann.id]
        await at.telegram.person_sends(at.ann, own, "/inbox")
        await at.telegram.until(lambda: len(own.messages) == 2)
        inbox = [*own.messages.values()][-1]

        def button(label: str) -> str:
            [data] = [b["callback_data"] for b in inbox.buttons if b["text"] == label]
            return str(data)

        ticks = [b["callback_data"] for b in inbox.buttons if b["callback_data"].endswith(":tick")]
        await press_and_see(at, inbox, ticks[0])
        outdated = button(f"{LABELS.allow_once} (1)")
        await press_and_see(at, inbox, ticks[1])
        await press_and_see(at, inbox, outdated)
        assert LABELS.selection_changed.format(submit=LABELS.allow_once) in inbox.text
        assert {(await at.shown(ask)).status for ask in asks} == {Status.OPEN}
        await press_and_see(at, inbox, button(f"{LABELS.deny} (2)"))
        assert {(await at.shown(ask)).status for ask in asks} == {Status.ANSWERED}


@pytest.mark.rule("TELEGRAM-12")
@pytest.mark.parametrize("place", ["own chat", "group"])
async def test_a_message_that_was_deleted_is_shown_anew_by_the_inbox(
    tmp_path: Path, place: str
) -> None:
    async with rig(tmp_path) as at:
        own = at.telegram.chats[at.ann.id]
        to = f"telegram:@{at.ann.id}" if place == "own chat" else f"telegram:{at.group.id}"
        ask = await at.submit([GO], to=to)
        chat = own if place == "own chat" else at.group
        gone = live(chat, ask)
        del chat.messages[gone.id]
        await at.telegram.person_sends(at.ann, own, "/inbox")
        await at.telegram.until(
            lambda: any(m.buttons and "Go?" in m.text for m in chat.messages.values())
        )
        ask = await at.shown(ask)
        assert live(chat, ask).id != gone.id
        await press(at, at.ann, live(chat, ask), LABELS.yes)
        assert (await at.shown(ask)).status is Status.ANSWERED


async def test_an_empty_inbox_names_the_groups_where_anyone_may_answer(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        await at.submit([GO], responders="anyone")
        eve = at.telegram.add_user("Eve")
        own = at.telegram.chats[eve.id]
        await at.telegram.person_sends(eve, own, "/inbox")
        await at.telegram.until(lambda: len(own.messages) == 2)
        assert "ops" in [*own.messages.values()][-1].text
