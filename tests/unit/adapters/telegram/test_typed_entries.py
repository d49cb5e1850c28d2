"""Inputs that are typed one after the other: what is wrong is said at once, and nothing that was typed is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback_chat import typed_entries
from tests.fakes.telegram.world import Chat, Message
from tests.unit.adapters.telegram.rig import Rig, rig
from tests.unit.adapters.telegram.test_entries import WHY, own_chat
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press, send_click

LABELS = Labels()
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "city": {"type": "string", "default": "Oslo"},
        "age": {"type": "integer"},
    },
    "required": ["name", "age"],
}
WHO: dict[str, Any] = {"id": "who", "text": "Who?", "answer_type": "schema", "schema": PERSON}
LAYOUT = {
    "question": "Which layout?",
    "header": "Layout",
    "options": [
        {"label": "Cards", "description": "A grid"},
        {"label": "List", "description": "Rows"},
    ],
}


async def newest(at: Rig, chat: Chat, after: int) -> Message:
    """Wait for a message of ours that is newer than another; return it."""

    def found() -> list[Message]:
        return [m for m in chat.messages.values() if m.id > after and m.sender.is_bot]

    await at.telegram.until(found)
    return found()[0]


async def says(at: Rig, chat: Chat, text: str, to: Message) -> Message:
    """Reply to a request; return what comes next."""
    said = await at.telegram.person_sends(at.ann, chat, text, to.id)
    return await newest(at, chat, said.id)


async def choose_with_note(at: Rig, *, several: bool) -> tuple[Ask, Chat]:
    arguments = {"questions": [LAYOUT | {"multiSelect": several}]}
    fields = {"name": "AskUserQuestion", "arguments": arguments, "to": f"telegram:@{at.ann.id}"}
    ask = await at.submit([], **fields)
    return ask, at.telegram.chats[at.ann.id]


@pytest.mark.rule("TELEGRAM-5", "SURFACE-7")
async def test_each_input_is_checked_before_the_next_is_asked_for(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [WHO])
        await press(at, at.ann, live(chat, ask), LABELS.fill_in)
        request = await newest(at, chat, live(chat, ask).id)
        assert LABELS.please_fix in (await says(at, chat, "A", request)).text
        following = await says(at, chat, "Ada", request)
        await press(at, at.ann, following, f"{LABELS.continue_}: Oslo")
        last = await newest(at, chat, following.id)
        assert "age" in last.text
        assert LABELS.please_fix in (await says(at, chat, "old", last)).text
        await at.telegram.person_sends(at.ann, chat, "36", last.id)
        await at.telegram.until(lambda: last.id not in chat.messages)
        [given] = (await at.shown(ask)).walk.answers
        assert given.value == {"name": "Ada", "age": 36, "city": "Oslo"}


@pytest.mark.rule("TELEGRAM-5")
async def test_an_earlier_input_is_asked_for_again_if_it_turns_out_to_be_wrong(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await choose_with_note(at, several=False)
        await press(at, at.ann, live(chat, ask), LABELS.answer_with_note)
        choice = await newest(at, chat, live(chat, ask).id)
        note = await says(at, chat, "Atlantis", choice)
        wrong = await says(at, chat, "by train", note)
        assert LABELS.please_fix in wrong.text
        again = await newest(at, chat, wrong.id)
        note = await says(at, chat, "List", again)
        await at.telegram.person_sends(at.ann, chat, "by train", note.id)
        await at.telegram.until(lambda: note.id not in chat.messages)
        [given] = (await at.shown(ask)).walk.answers
        assert (given.value, given.note) == ("List", "by train")


@pytest.mark.rule("TELEGRAM-5")
async def test_a_note_goes_with_what_was_ticked_before(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await choose_with_note(at, several=True)
        tick = f"ab1:{ask.id}:{ask.revision}:choose:1"
        assert tick in [each["callback_data"] for each in live(chat, ask).buttons]
        await send_click(at, at.ann, live(chat, ask), tick)
        await at.shown(ask)
        await press(at, at.ann, live(chat, ask), LABELS.answer_with_note)
        note = await newest(at, chat, live(chat, ask).id)
        assert LABELS.other_with.format(count=1, text="List") in note.text
        await send_click(at, at.ann, live(chat, ask), tick)
        refused = await says(at, chat, "by train", note)
        again = LABELS.selection_changed.format(submit=LABELS.answer_with_note)
        assert again in refused.text
        await send_click(at, at.ann, live(chat, ask), tick)
        await at.telegram.person_sends(at.ann, chat, "by train", note.id)
        await at.telegram.until(lambda: note.id not in chat.messages)
        [given] = (await at.shown(ask)).walk.answers
        assert (given.value, given.note) == (["List"], "by train")


@pytest.mark.rule("TELEGRAM-4")
async def test_a_request_is_not_answered_for_another_control(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        await press(at, at.ann, live(at.group, ask), LABELS.reply)
        request = await newest(at, at.group, live(at.group, ask).id)
        note = await send_click(at, at.ann, request, f"ab1:{ask.id}:1:write:keep")
        assert note == LABELS.not_found
        assert (await at.shown(ask)).open


@pytest.mark.rule("TYPED-1", "TELEGRAM-14")
async def test_a_text_after_a_request_that_could_not_be_sent_answers_the_question(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [WHY])
        at.ann.blocked = True
        await press(at, at.ann, live(chat, ask), LABELS.reply)
        await at.telegram.until(lambda: any(call[2] == 403 for call in at.telegram.log))
        await at.until_awaited(None, chat)
        at.ann.blocked = False
        said = await at.telegram.person_sends(at.ann, chat, "because")
        await at.telegram.until(lambda: said.reactions)
        assert (await at.shown(ask)).walk.answers[0].value == "because"


async def test_a_reply_right_after_a_reminder_answers_its_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typed_entries, "TRIES", 1)
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [WHY])
        await at.surface.remind(ask, 0)
        reminder = await newest(at, chat, live(chat, ask).id)
        said = await at.telegram.person_sends(at.ann, chat, "because", reminder.id)
        await at.telegram.until(lambda: said.reactions)
        assert (await at.shown(ask)).walk.answers[0].value == "because"
