"""Commands, and messages that are more or less than a text: none is an answer, and each that is for us is answered."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from answerback.core.ask import Status
from answerback.core.labels import Labels
from tests.fakes.telegram.world import Chat, Message
from tests.unit.adapters.telegram.rig import Rig, rig
from tests.unit.adapters.telegram.test_entries import WHY, helper, own_chat
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press
from tests.unit.adapters.telegram.test_typed_entries import newest, says
from tests.unit.picture_samples import PNG

LABELS = Labels()
VOICE = {"file_id": "a", "file_unique_id": "b", "duration": 3}


async def note_to(at: Rig, said: Message) -> str:
    """Return what the author of a message is note in their own chat with the bot."""
    own = at.telegram.chats[at.ann.id]
    after = said.id if said.chat is own else max(own.messages, default=0)
    return (await newest(at, own, after)).text


@pytest.mark.rule("TELEGRAM-16")
@pytest.mark.parametrize("place", ["own chat", "reply in a group"])
@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("/cancel", LABELS.nothing_to_cancel),
        ("/help", LABELS.how_to_answer),
        ("/stop", LABELS.unknown_command.format(command="/stop")),
        ("/Tmp, please", LABELS.unknown_command.format(command="/tmp")),
    ],
)
async def test_a_command_is_never_an_answer(
    tmp_path: Path, place: str, text: str, note: str
) -> None:
    async with rig(tmp_path) as at:
        if place == "own chat":
            ask, chat = await own_chat(at, [WHY])
            said = await at.telegram.person_sends(at.ann, chat, text)
        else:
            ask, chat = await at.submit([WHY]), at.group
            at.telegram.pass_time()
            said = await at.telegram.person_sends(at.ann, chat, text, live(chat, ask).id)
        own = at.telegram.chats[at.ann.id].messages
        await at.telegram.until(lambda: any(note in each.text for each in own.values()))
        assert said.reactions == ([] if text == "/help" else ["👎"])
        await at.telegram.person_edits(said, "/stop")
        last = await at.telegram.person_sends(at.ann, chat, "/etc/hosts", live(chat, ask).id)
        await at.telegram.until(lambda: last.reactions)
        assert [given.value for given in (await at.shown(ask)).walk.answers] == ["/etc/hosts"]


@pytest.mark.rule("TELEGRAM-16")
async def test_a_command_that_may_be_for_another_bot_is_left_alone(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([WHY])
        at.telegram.pass_time()
        for text in ("/stop", "/help", "/cancel", "/stop@another_bot"):
            await at.telegram.person_sends(at.ann, at.group, text)
        said = await at.telegram.person_sends(at.ann, at.group, "/stop@answerback_bot")
        await at.telegram.until(lambda: said.reactions)
        await at.telegram.until(lambda: len(at.telegram.calls("sendMessage")) == 2)
        assert (await at.shown(ask)).open


@pytest.mark.rule("TELEGRAM-16", "TELEGRAM-14")
@pytest.mark.parametrize("place", ["own chat", "reply", "group"])
async def test_cancel_closes_the_request_to_type(tmp_path: Path, place: str) -> None:
    async with rig(tmp_path) as at:
        if place == "group":
            ask, chat = await at.submit([WHY]), at.group
        else:
            ask, chat = await own_chat(at, [WHY])
        await press(at, at.ann, live(chat, ask), LABELS.reply)
        request = await helper(at, chat, live(chat, ask))
        to = request.id if place == "reply" else None
        said = await at.telegram.person_sends(at.ann, chat, "/cancel", to)
        await at.telegram.until(lambda: request.id not in chat.messages and said.reactions)
        assert said.reactions == ["👍"]
        at.telegram.pass_time()
        answer = await at.telegram.person_sends(at.ann, chat, "because", live(chat, ask).id)
        await at.telegram.until(lambda: answer.reactions)
        ask = await at.shown(ask)
        assert (ask.status, ask.walk.answers[0].value) == (Status.ANSWERED, "because")


@pytest.mark.rule("TELEGRAM-14")
async def test_a_text_below_a_newer_ask_than_the_request_is_for_neither_until_its_author_says(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [GO])
        await press(at, at.ann, live(chat, ask), LABELS.reply)
        request = await helper(at, chat, live(chat, ask))
        newer, _ = await own_chat(at, [WHY])
        asked = await says_alone(at, chat, "not now")
        assert LABELS.which_one_quote in asked.text
        assert (await at.shown(ask)).open
        assert (await at.shown(newer)).open
        said = await at.telegram.person_sends(at.ann, chat, "not now", request.id)
        await at.telegram.until(lambda: said.reactions)
        assert (await at.shown(ask)).walk.reply == "not now"
        at.telegram.pass_time()
        said = await at.telegram.person_sends(at.ann, chat, "because")
        await at.telegram.until(lambda: said.reactions)
        assert (await at.shown(newer)).walk.answers[0].value == "because"


@pytest.mark.rule("TELEGRAM-14")
async def test_a_text_answers_again_before_the_reply_to_a_request_is_marked(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [GO])
        await press(at, at.ann, live(chat, ask), LABELS.reply)
        request = await helper(at, chat, live(chat, ask))
        newer, _ = await own_chat(at, [WHY])
        marked = at.telegram.held["setMessageReaction"] = asyncio.Event()
        await at.telegram.person_sends(at.ann, chat, "not now", request.id)
        await at.telegram.until(lambda: "setMessageReaction" in at.telegram.arrived)
        at.telegram.pass_time()
        said = await at.telegram.person_sends(at.ann, chat, "because")
        await at.telegram.until(lambda: at.telegram.arrived.count("setMessageReaction") == 2)
        marked.set()
        await at.telegram.until(lambda: said.reactions)
        assert (said.reactions, (await at.shown(ask)).walk.reply) == (["👍"], "not now")
        assert (await at.shown(newer)).walk.answers[0].value == "because"


async def says_alone(at: Rig, chat: Chat, text: str) -> Message:
    """Write next to the bot; return what it says."""
    said = await at.telegram.person_sends(at.ann, chat, text)
    return await newest(at, chat, said.id)


@pytest.mark.rule("TYPED-13", "TELEGRAM-5")
@pytest.mark.parametrize("as_reply", [True, False])
async def test_a_request_needs_words_whatever_comes_with_them(
    tmp_path: Path, *, as_reply: bool
) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [WHY])
        await press(at, at.ann, live(chat, ask), LABELS.reply)
        request = await helper(at, chat, live(chat, ask))
        to = request.id if as_reply else None
        voice = await at.telegram.person_sends(at.ann, chat, "", to, voice=VOICE)
        assert LABELS.text_missing in (await newest(at, chat, voice.id)).text
        assert request.id in chat.messages
        said = await at.telegram.person_sends(at.ann, chat, "not now", to, voice=VOICE)
        await at.telegram.until(lambda: request.id not in chat.messages)
        assert LABELS.files_left_out in (await newest(at, chat, said.id)).text
        assert (await at.shown(ask)).walk.reply == "not now"


@pytest.mark.rule("TYPED-13")
@pytest.mark.parametrize("caption", ["because", ""])
async def test_the_parts_of_an_album_are_one_message(tmp_path: Path, caption: str) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [WHY])
        files = [(f"{n}.png", PNG) for n in range(3)]
        parts = await at.telegram.person_sends_files(at.ann, chat, caption, files, as_photo=True)
        await at.telegram.until(lambda: parts[0].reactions)
        await at.telegram.until(lambda: not at.telegram.updates)
        assert [part.reactions for part in parts] == [["👍"], [], []]
        assert len(at.telegram.calls("sendMessage")) == 1
        [given] = (await at.shown(ask)).walk.answers
        assert (given.value, len(given.files)) == (caption, 3)


@pytest.mark.rule("TYPED-13")
async def test_a_forwarded_message_is_no_answer_and_its_sender_is_told(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [WHY])
        origin = {"type": "hidden_user", "sender_user_name": "Eve", "date": 1}
        said = await at.telegram.person_sends(at.ann, chat, "because", forward_origin=origin)
        assert LABELS.forward_not_read in (await newest(at, chat, said.id)).text
        assert (await at.shown(ask)).open


@pytest.mark.rule("TYPED-14", "TELEGRAM-5")
async def test_a_refused_entry_can_be_mended_by_an_edit(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    count = {"id": "n", "text": "How many?", "answer_type": "schema", "schema": schema}
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [count, WHY])
        await press(at, at.ann, live(chat, ask), LABELS.fill_in)
        request = await helper(at, chat, live(chat, ask))
        wrong = await says(at, chat, "many", request)
        assert LABELS.please_fix in wrong.text
        said = chat.messages[wrong.id - 1]
        await at.telegram.person_edits(said, "3")
        await at.telegram.until(lambda: request.id not in chat.messages)
        ask = await at.shown(ask)
        at.telegram.pass_time()
        await at.telegram.person_edits(said, "4")
        assert LABELS.edit_not_read in (await newest(at, chat, wrong.id)).text
        assert [given.value for given in (await at.shown(ask)).walk.answers] == [{"n": 3}]
