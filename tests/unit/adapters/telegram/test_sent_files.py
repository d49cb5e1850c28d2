"""Files that people send on Telegram: photos, documents and albums; how they are read, and what becomes of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.core.errors import PlatformError
from answerback.core.files import MAX_FILE
from answerback.core.labels import Labels
from answerback.ports.files import read_whole
from answerback.runtime.sockets import chat_http_session
from answerback.service.ask_wire import ask_json
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.pending_deliveries import PendingDeliveries
from answerback_telegram import parse
from answerback_telegram.api_client import TelegramApi
from answerback_telegram.file_messages import FileMessages
from answerback_telegram.parse import TypedMessage, full_id
from tests.fakes.long_timeouts import PATIENT
from tests.fakes.telegram.server import FakeTelegram
from tests.fakes.telegram.world import Chat, Message
from tests.service_support import WAIT
from tests.unit.adapters.telegram.rig import MODES, Mode, Rig, rig
from tests.unit.adapters.telegram.test_entries import SIZES, WHY, helper, own_chat
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press
from tests.unit.adapters.telegram.test_typed_entries import newest
from tests.unit.picture_samples import PNG, jpeg

LABELS = Labels()
_PLACE = b"Exif\0\0II*\0 at 52.5 north"
PHOTO = jpeg(before=b"\xff\xe1" + (len(_PLACE) + 2).to_bytes(2) + _PLACE)
"""A photo that says where it was taken."""
HEIC = b"\0\0\0\x18ftypheic" + b"\0" * 20


async def send(
    at: Rig, chat: Chat, text: str, files: Sequence[tuple[str, bytes]], **more: Any
) -> Message:
    """Send files; return the message with the caption."""
    sent = await at.telegram.person_sends_files(at.ann, chat, text, files, **more)
    return sent[0]


async def until_marked(at: Rig, said: Message) -> list[str]:
    await at.telegram.until(lambda: said.reactions)
    return said.reactions


async def sent_files(at: Rig, ask: Ask) -> dict[str, bytes]:
    """Return the files of an ask's answers, by their names."""
    listed: Any = ask_json(await at.shown(ask))["answer_files"]
    return {each["name"]: await read_whole(at.store.files, each["id"]) for each in listed}


async def answers(at: Rig, ask: Ask) -> list[object]:
    return [each.value for each in (await at.shown(ask)).walk.answers]


async def is_refused(at: Rig, ask: Ask, chat: Chat, said: Message, sentence: str) -> None:
    """Fail unless a message was refused with this sentence, and nothing of it taken."""
    assert await until_marked(at, said) == ["👎"]
    assert sentence in (await newest(at, chat, said.id)).text
    assert await answers(at, ask) == []


def pending(at: Rig) -> PendingDeliveries:
    """Return what a process keeps of which the surface itself handles nothing."""
    return PendingDeliveries(at.service, "elsewhere", lambda: 0.0, 180.0, is_alone=True)


async def until_handled(at: Rig, surface: str = "telegram") -> None:
    """Wait until nothing is left of what was stored."""
    await at.until_stored(f"{surface}:files", None)


@pytest.mark.rule("FILE-25", "FILE-15")
@pytest.mark.parametrize("mode", MODES)
async def test_a_photo_goes_with_its_caption_and_says_no_more_where_it_was_taken(
    tmp_path: Path, mode: Mode
) -> None:
    async with rig(tmp_path, mode) as at:
        ask, chat = await own_chat(at, [WHY])
        said = await send(at, chat, "as drawn", [("", PHOTO)], as_photo=True)
        assert await until_marked(at, said) == ["👍"]
        assert await answers(at, ask) == ["as drawn"]
        [(name, photo)] = (await sent_files(at, ask)).items()
        assert name == f"photo-{said.id}.jpg"
        assert (len(photo) > 20, b"north" in PHOTO, b"north" in photo) == (True, True, False)
        await until_handled(at)


@pytest.mark.rule("FILE-25")
async def test_a_document_keeps_its_name_without_what_hides_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [WHY])
        await until_marked(at, await send(at, chat, "", [("../plan\u202egnp.csv", b"a,b")]))
        assert await answers(at, ask) == [""]
        [(name, data)] = (await sent_files(at, ask)).items()
        assert ("/" in name, "\u202e" in name, data) == (False, False, b"a,b")


@pytest.mark.rule("FILE-25")
@pytest.mark.parametrize("mode", MODES)
async def test_an_album_is_one_reply_with_all_its_files(tmp_path: Path, mode: Mode) -> None:
    async with rig(tmp_path, mode) as at:
        ask = await at.submit([WHY])
        at.telegram.pass_time()
        files = [(f"{n}.png", PNG + bytes([n])) for n in range(4)]
        said = await send(at, at.group, "these", files, reply_to=live(at.group, ask).id)
        assert await until_marked(at, said) == ["👍"]
        assert await answers(at, ask) == ["these"]
        assert [*await sent_files(at, ask)] == ["0.png", "1.png", "2.png", "3.png"]
        await until_handled(at)
        assert [m.reactions for m in at.group.messages.values() if m.reactions] == [["👍"]]


@pytest.mark.rule("FILE-25")
async def test_what_was_stored_when_a_process_stopped_is_handled_by_the_next(
    tmp_path: Path,
) -> None:
    handled: list[TypedMessage] = []

    async def handle(typed: TypedMessage) -> None:
        handled.append(typed)

    async with rig(tmp_path) as at:
        elsewhere = FakeTelegram()  # so that the surface itself does not handle them
        bot, group = str(elsewhere.bot.id), elsewhere.add_group()
        ann = elsewhere.add_user("Ann")
        read = partial(parse.parse_typed_message, bot_id=bot, bot_name="bot")
        before, after, taken_over = BackgroundTasks(), BackgroundTasks(), pending(at)
        stopped = FileMessages(pending(at), before, read, handle, handled.append, 600.0)
        files = [("0.png", PNG), ("1.csv", b"a")]
        for each in await elsewhere.person_sends_files(ann, group, "these", files):
            update = {"message": each.json()}
            typed = read(update)
            assert typed is not None
            await stopped.add(update, typed)
        await before.stop(0.0)
        assert handled == []
        taken_over.resume(FileMessages(taken_over, after, read, handle, handled.append, 0.0).resume)
        await until_handled(at, "elsewhere")
        await taken_over.stop()
        await after.stop(30.0)
        [whole] = handled
        assert (whole.text, [file.name for file in whole.attachments]) == (
            "these",
            ["0.png", "1.csv"],
        )


@pytest.mark.rule("FILE-25")
async def test_a_part_that_is_stored_while_its_album_is_taken_for_whole_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handled, late = asyncio.Queue[TypedMessage](), list[TypedMessage]()
    async with rig(tmp_path) as at:
        elsewhere = FakeTelegram()  # so that the surface itself does not handle them
        group, ann = elsewhere.add_group(), elsewhere.add_user("Ann")
        read = partial(parse.parse_typed_message, bot_id=str(elsewhere.bot.id), bot_name="bot")
        background, change_draft = BackgroundTasks(), at.service.change_draft
        messages = FileMessages(pending(at), background, read, handled.put, late.append, 0.0)
        sent = await elsewhere.person_sends_files(ann, group, "these", [("0", b"a"), ("1", b"b")])
        updates: list[dict[str, Any]] = [{"message": each.json()} for each in sent]
        first, second = (typed for each in updates if (typed := read(each)) is not None)
        await messages.add(updates[0], first)

        async def change_once_the_first_is_handled(*change: Any) -> Any:
            monkeypatch.undo()
            async with asyncio.timeout(WAIT):
                await handled.get()
            return await change_draft(*change)

        monkeypatch.setattr(at.service, "change_draft", change_once_the_first_is_handled)
        await messages.add(updates[1], second)
        await background.stop(30.0)
        assert late == [second]
        await until_handled(at, "elsewhere")


@pytest.mark.rule("FILE-25")
async def test_files_come_with_what_a_button_asked_for(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [GO])
        await press(at, at.ann, live(chat, ask), LABELS.reply)
        request = await helper(at, chat, live(chat, ask))
        await send(at, chat, "", [("plan.png", PNG)], reply_to=request.id)
        await at.telegram.until(lambda: request.id not in chat.messages)
        assert (await at.shown(ask)).walk.reply is None
        assert [*await sent_files(at, ask)] == ["plan.png"]


@pytest.mark.rule("FILE-26")
async def test_a_file_with_an_input_that_takes_none_is_not_dropped_without_a_word(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [SIZES])
        await press(at, at.ann, live(chat, ask), LABELS.fill_in)
        request = await helper(at, chat, live(chat, ask))
        said = await send(at, chat, "3", [("plan.png", PNG)], reply_to=request.id)
        assert (await helper(at, chat, said)).text == LABELS.files_left_out


HOW = {
    "question": "How?",
    "header": "Way",
    "options": [{"label": each, "description": each} for each in ("canary", "at once")],
    "multiSelect": False,
}
"""A choice, to which a note takes two messages: one names the option, and one is the note."""


async def open_note(at: Rig) -> tuple[Ask, Chat, Message]:
    """Ask for a choice, and answer with a note; return the request for the option."""
    call = {"name": "AskUserQuestion", "arguments": {"questions": [HOW]}}
    ask = await at.submit([], to=f"telegram:@{at.ann.id}", **call)
    chat = at.telegram.chats[at.ann.id]
    at.telegram.pass_time()
    await press(at, at.ann, live(chat, ask), LABELS.answer_with_note)
    return ask, chat, await helper(at, chat, live(chat, ask))


async def until_asked_next(at: Rig, chat: Chat, before: Message) -> Message:
    """Wait until the next input is asked for instead of the one before; return that request."""
    await at.telegram.until(lambda: before.id not in chat.messages)
    return newest_request(chat)


async def until_draft(at: Rig, key: str, value: str) -> None:
    """Wait until this is stored under a key."""
    async with asyncio.timeout(30):
        while await at.service.draft(key) != value:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def newest_request(chat: Chat) -> Message:
    """Return the newest message of the bot."""
    return [each for each in chat.messages.values() if each.sender.is_bot][-1]


async def unclaimed(at: Rig) -> int:
    """Return how many uploads there are that no answer has named."""
    return await at.store.files.prune(float("inf"))


@pytest.mark.rule("FILE-26")
@pytest.mark.parametrize("mode", MODES)
async def test_files_come_with_each_input_of_a_form(tmp_path: Path, mode: Mode) -> None:
    async with rig(tmp_path, mode) as at:
        ask, chat, first = await open_note(at)
        files = [("plan.png", PNG), ("times.csv", b"a,b")]
        await send(at, chat, "canary", files, reply_to=first.id)
        second = await until_asked_next(at, chat, first)
        said = await send(at, chat, "see all", [("map.png", PNG + b"1")], reply_to=second.id)
        assert await until_marked(at, said) == ["👍"]
        [given] = (await at.shown(ask)).walk.answers
        assert (given.value, given.note) == ("canary", "see all")
        sent = await sent_files(at, ask)
        assert sent == {"plan.png": PNG, "times.csv": b"a,b", "map.png": sent["map.png"]}
        assert await unclaimed(at) == 0
        texts = [each.text for each in chat.messages.values()]
        assert LABELS.files_left_out not in texts


@pytest.mark.rule("FILE-26")
async def test_files_of_an_input_count_although_the_next_one_is_left_empty(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, chat, first = await open_note(at)
        await send(at, chat, "2", [("plan.png", PNG)], reply_to=first.id)
        second = await until_asked_next(at, chat, first)
        await press(at, at.ann, second, f"{LABELS.continue_} {LABELS.none_chosen}")
        await until_asked_next(at, chat, second)
        [given] = (await at.shown(ask)).walk.answers
        assert (given.value, given.note) == ("at once", None)
        assert [each.name for each in given.files] == ["plan.png"]


@pytest.mark.rule("FILE-26")
async def test_files_of_an_input_outlive_the_process_that_took_them(tmp_path: Path) -> None:
    async with FakeTelegram() as telegram:
        async with rig(tmp_path, telegram=telegram) as at:
            group, ann = at.group, at.ann
            ask, chat, first = await open_note(at)
            await send(at, chat, "canary", [("plan.png", PNG)], reply_to=first.id)
            second = await until_asked_next(at, chat, first)
        async with rig(tmp_path, telegram=telegram, group=group, ann=ann) as at:
            said = await send(at, chat, "see", [("map.png", PNG)], reply_to=second.id)
            assert await until_marked(at, said) == ["👍"]
            assert [*await sent_files(at, ask)] == ["plan.png", "map.png"]


@pytest.mark.rule("FILE-26")
async def test_an_input_that_comes_again_has_its_files_once(tmp_path: Path) -> None:
    """As after a process that died before it had noted that the message was handled."""
    async with rig(tmp_path) as at:
        ask, chat, first = await open_note(at)
        said = await send(at, chat, "canary", [("plan.png", PNG)], reply_to=first.id)
        update = {"message": said.json()}
        second = await until_asked_next(at, chat, first)
        await until_handled(at)
        await at.telegram.send_update(update)
        await at.telegram.until(lambda: len(at.telegram.sent_files.downloads) == 2)
        await until_handled(at)
        said = await send(at, chat, "see", [("map.png", PNG)], reply_to=second.id)
        assert await until_marked(at, said) == ["👍"]
        assert [*await sent_files(at, ask)] == ["plan.png", "map.png"]
        assert len((await at.shown(ask)).walk.answers[0].files) == 2
        assert await unclaimed(at) == 0


@pytest.mark.rule("FILE-26", "TELEGRAM-14")
@pytest.mark.parametrize("request_is_known", [True, False], ids=["asked next", "request lost"])
@pytest.mark.parametrize("files", [[], [("plan.png", PNG)]], ids=["text", "file"])
async def test_an_input_that_comes_again_is_not_the_next_one(
    tmp_path: Path, files: list[tuple[str, bytes]], request_is_known: bool
) -> None:
    """Without a reply to a request, a message is for the last one: not so if it led to that request."""
    async with rig(tmp_path) as at:
        ask, chat, first = await open_note(at)
        said = await (
            send(at, chat, "canary", files)
            if files
            else at.telegram.person_sends(at.ann, chat, "canary")
        )
        update = {"message": said.json()}
        second = await until_asked_next(at, chat, first)
        awaited = f"telegram:awaited:{chat.id}:{at.ann.id}"
        await until_draft(at, awaited, full_id(str(chat.id), str(second.id)))
        if not request_is_known:  # as by a process that died while it was sent
            await at.service.save_draft(awaited, None)
        await at.telegram.send_update(update)
        await at.telegram.until(lambda: not at.telegram.updates)
        await until_handled(at)
        assert await answers(at, ask) == []
        said = await at.telegram.person_sends(at.ann, chat, "see", second.id)
        assert await until_marked(at, said) == ["👍"]
        [given] = (await at.shown(ask)).walk.answers
        assert (given.value, given.note) == ("canary", "see")
        assert [each.name for each in given.files] == [name for name, _ in files]


@pytest.mark.rule("FILE-26")
@pytest.mark.parametrize("how", ["button", "command", "withdrawal"])
async def test_a_form_that_is_cancelled_withdraws_the_files_of_its_inputs(
    tmp_path: Path, how: str
) -> None:
    async with rig(tmp_path) as at:
        ask, chat, first = await open_note(at)
        await send(at, chat, "canary", [("plan.png", PNG)], reply_to=first.id)
        second = await until_asked_next(at, chat, first)
        if how == "button":
            await press(at, at.ann, second, LABELS.cancel)
        elif how == "command":
            await at.telegram.person_sends(at.ann, chat, "/cancel")
        else:
            await at.service.withdraw(ask.id)
            await at.telegram.person_sends(at.ann, chat, "see", second.id)
        await at.telegram.until(lambda: second.id not in chat.messages)
        assert await unclaimed(at) == 0
        assert await sent_files(at, ask) == {}


@pytest.mark.rule("FILE-26")
async def test_an_input_that_is_entered_anew_has_its_new_files_alone(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, chat, first = await open_note(at)
        await send(at, chat, "canary", [("old.png", PNG)], reply_to=first.id)
        second = await until_asked_next(at, chat, first)
        await press(at, at.ann, live(chat, ask), LABELS.answer_with_note)
        await at.telegram.until(lambda: newest_request(chat).id > second.id)
        again = newest_request(chat)
        await send(at, chat, "2", [("new.png", PNG)], reply_to=again.id)
        second = await until_asked_next(at, chat, again)
        said = await at.telegram.person_sends(at.ann, chat, "see", second.id)
        assert await until_marked(at, said) == ["👍"]
        [given] = (await at.shown(ask)).walk.answers
        assert (given.value, [each.name for each in given.files]) == ("at once", ["new.png"])
        assert await unclaimed(at) == 0


@pytest.mark.rule("FILE-26")
async def test_files_that_are_gone_before_the_last_input_are_said_and_asked_for_again(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        ask, chat, first = await open_note(at)
        await send(at, chat, "canary", [("plan.png", PNG)], reply_to=first.id)
        second = await until_asked_next(at, chat, first)
        assert await unclaimed(at) == 1, "as an hour later"
        late = await at.telegram.person_sends(at.ann, chat, "see", second.id)
        assert "is not there any more. Attach it again." in (await helper(at, chat, late)).text
        assert await answers(at, ask) == []
        said = await send(at, chat, "see", [("plan.png", PNG)], reply_to=second.id)
        assert await until_marked(at, said) == ["👍"]
        assert [*await sent_files(at, ask)] == ["plan.png"]


@pytest.mark.rule("FILE-26")
async def test_an_input_with_too_many_files_beside_the_others_changes_nothing(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        ask, chat, first = await open_note(at)
        many = [(f"{n}.csv", b"a") for n in range(6)]
        await send(at, chat, "canary", many, reply_to=first.id)
        second = await until_asked_next(at, chat, first)
        said = await send(at, chat, "see", many, reply_to=second.id)
        assert await until_marked(at, said) == ["👎"]
        assert "At most 10 files" in (await newest(at, chat, said.id)).text
        assert await answers(at, ask) == []
        said = await send(at, chat, "see", many[:4], reply_to=second.id)
        assert await until_marked(at, said) == ["👍"]
        assert len((await at.shown(ask)).walk.answers[0].files) == 10


@pytest.mark.rule("FILE-25")
async def test_a_refused_file_leaves_the_request_open_and_a_better_one_is_taken(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [GO])
        await press(at, at.ann, live(chat, ask), LABELS.reply)
        request = await helper(at, chat, live(chat, ask))
        said = await send(at, chat, "see", [("x.heic", HEIC)], reply_to=request.id)
        assert await until_marked(at, said) == ["👎"]
        assert "Attach it as JPEG" in (await newest(at, chat, said.id)).text
        assert request.id in chat.messages
        await send(at, chat, "see", [("x.jpg", PHOTO)], reply_to=request.id)
        await at.telegram.until(lambda: request.id not in chat.messages)
        assert (await at.shown(ask)).walk.reply == "see"
        assert [*await sent_files(at, ask)] == ["x.jpg"]


@pytest.mark.rule("FILE-25")
async def test_an_edited_caption_mends_a_refused_message_with_its_files(tmp_path: Path) -> None:
    call = {"name": "AskUserQuestion", "arguments": {"questions": [HOW]}}
    async with rig(tmp_path) as at:
        ask = await at.submit([], to=f"telegram:@{at.ann.id}", **call)
        chat = at.telegram.chats[at.ann.id]
        at.telegram.pass_time()
        said = await send(at, chat, "", [("0.png", PNG), ("1.png", PNG + b"1")])
        await is_refused(at, ask, chat, said, LABELS.text_missing)
        at.telegram.pass_time()
        await at.telegram.person_edits(said, "neither")
        async with asyncio.timeout(WAIT):
            while not (stored := await at.shown(ask)).walk.answers:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert stored.walk.answers[0].other_text == "neither"
        assert [*await sent_files(at, ask)] == ["0.png", "1.png"]


@pytest.mark.rule("FILE-25")
async def test_clicks_come_while_a_download_stalls(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [WHY])
        stalled = at.telegram.sent_files.stalled = asyncio.Event()
        said = await send(at, chat, "late", [("a.csv", b"ab")])
        await at.telegram.until(lambda: at.telegram.sent_files.downloads)
        await at.telegram.until(lambda: not at.telegram.updates)
        other = await at.submit([GO])
        await press(at, at.ann, live(at.group, other), LABELS.yes)
        assert await answers(at, other) == [True]
        assert await answers(at, ask) == []
        stalled.set()
        assert await until_marked(at, said) == ["👍"]


@pytest.mark.rule("FILE-25")
async def test_an_update_that_comes_again_is_read_once(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [WHY])
        said = await send(at, chat, "once", [("a.csv", b"ab")])
        assert await until_marked(at, said) == ["👍"]
        await until_handled(at)
        await at.telegram.send_update({"message": said.json()})
        await at.telegram.until(lambda: not at.telegram.updates)
        await until_handled(at)
        assert len(at.telegram.sent_files.downloads) == 1
        assert [*await sent_files(at, ask)] == ["a.csv"]


@pytest.mark.rule("FILE-25")
async def test_a_part_that_comes_after_its_album_was_used_is_said(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [WHY])
        said = await send(at, chat, "these", [("0.png", PNG), ("1.png", PNG)])
        await until_marked(at, said)
        await until_handled(at)
        album = {"media_group_id": said.extra["media_group_id"]}
        attached = album | at.telegram.sent_files.add("2.png", PNG)
        late = await at.telegram.person_sends(at.ann, chat, "", **attached)
        assert LABELS.file_too_late in (await newest(at, chat, late.id)).text
        assert len(await sent_files(at, ask)) == 2


@pytest.mark.rule("FILE-25")
async def test_files_of_people_who_may_not_answer_are_not_read(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([WHY])
        at.telegram.pass_time()
        eve = at.telegram.add_user("Eve")
        at.group.members[eve.id] = "member"
        to = live(at.group, ask).id
        [said] = await at.telegram.person_sends_files(eve, at.group, "me", [("a", b"a")], to)
        assert await until_marked(at, said) == ["👎"]
        assert at.telegram.sent_files.downloads == []


@pytest.mark.rule("FILE-25")
async def test_files_for_a_request_to_somebody_else_are_not_read(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([WHY])
        at.telegram.pass_time()
        await press(at, at.ann, live(at.group, ask), LABELS.reply)
        request = await helper(at, at.group, live(at.group, ask))
        eve = at.telegram.add_user("Eve")
        at.group.members[eve.id] = "member"
        [said] = await at.telegram.person_sends_files(
            eve, at.group, "me", [("a", b"a")], request.id
        )
        assert await until_marked(at, said) == ["👎"]
        assert at.telegram.sent_files.downloads == []


@pytest.mark.rule("FILE-25")
async def test_photos_between_people_are_neither_stored_nor_read(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        await at.submit([WHY])
        said = await send(at, at.group, "look", [("a.csv", b"a")])
        await at.telegram.until(lambda: not at.telegram.updates)
        await until_handled(at)
        assert (said.reactions, at.telegram.sent_files.downloads) == ([], [])


@pytest.mark.rule("FILE-25")
@pytest.mark.parametrize(
    "path",
    ["../bot123456:fake-token/getMe", "a/../../b", "//evil.example/a", "http://evil.example"],
)
async def test_a_file_is_read_only_below_the_address_of_files(
    tmp_path: Path, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [WHY])
        at.telegram.sent_files.paths["file-id-1"] = path
        said = await send(at, chat, "see", [("a.csv", b"ab")])
        await is_refused(at, ask, chat, said, "a.csv could not be read from Telegram")
        assert at.telegram.token not in caplog.text
        assert at.telegram.token not in (await newest(at, chat, said.id)).text


@pytest.mark.parametrize("path", ["../a", "a/../../b", "", "a//b", "./a"])
async def test_no_path_leads_away_from_the_files(path: str) -> None:
    async with chat_http_session() as http:
        calls = TelegramApi(http, "123456:fake-token", "http://127.0.0.1:9")
        with pytest.raises(PlatformError) as raised:
            await anext(calls.read_file(path))
        assert raised.value.code == "file_address"


@pytest.mark.rule("FILE-25")
@pytest.mark.parametrize("fault", ["429", "503", "unavailable"])
async def test_a_read_that_fails_for_the_moment_is_repeated(tmp_path: Path, fault: str) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [WHY])
        if fault == "unavailable":
            at.telegram.sent_files.unavailable["file-id-1"] = 1
        else:
            at.telegram.sent_files.statuses = [int(fault)]
        said = await send(at, chat, "see", [("a.csv", b"ab")])
        assert await until_marked(at, said) == ["👍"]
        assert await sent_files(at, ask) == {"a.csv": b"ab"}


@pytest.mark.rule("FILE-25")
@pytest.mark.parametrize("fault", ["redirect", "404", "stalled"])
async def test_a_file_that_cannot_be_read_is_refused_and_its_address_kept_secret(
    tmp_path: Path, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    delays = replace(PATIENT, files=0.1) if fault == "stalled" else PATIENT
    async with rig(tmp_path, delays=delays) as at:
        ask, chat = await own_chat(at, [WHY])
        files = at.telegram.sent_files
        files.redirect_to = f"{at.telegram.url}/secret" if fault == "redirect" else None
        files.statuses = [404] if fault == "404" else []
        files.stalled = asyncio.Event() if fault == "stalled" else None
        said = await send(at, chat, "see", [("a.csv", b"ab")])
        await is_refused(at, ask, chat, said, "a.csv could not be read from Telegram")
        # On a busy machine, the time may be over before the download begins.
        assert len(files.downloads) <= 1 if fault == "stalled" else len(files.downloads) == 1
        assert at.telegram.token not in caplog.text + (await newest(at, chat, said.id)).text
        if files.stalled:
            files.stalled.set()


@pytest.mark.rule("FILE-25")
async def test_too_large_a_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [WHY])
        said = await send(at, chat, "see", [("a.bin", b"x" * (MAX_FILE + 1))])
        await is_refused(at, ask, chat, said, "a.bin is too large")
        assert at.telegram.sent_files.downloads == []
