"""Text that people type where a message asked for it, and in a supergroup whose replies have threads of their own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from answerback.core.ask import Ask, Status
from answerback.core.labels import Labels
from answerback_base.backoff import Backoff
from answerback_chat import typed_entries
from tests.fakes.telegram.world import Chat, Message
from tests.unit.adapters.telegram.rig import Rig, rig
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press, send_click

LABELS = Labels()
WHY: dict[str, Any] = {"id": "why", "text": "Why?", "answer_type": "text"}


async def helper(at: Rig, chat: Chat, below: Message) -> Message:
    """Wait for the message that replies to another; return it."""

    def found() -> list[Message]:
        replies = [m for m in chat.messages.values() if m.reply_to == below.id]
        return [m for m in replies if m.sender.is_bot]

    await at.telegram.until(found)
    return found()[-1]


async def say_in_topic(at: Rig, topic: int | None, text: str) -> None:
    """Send a text in a topic of the group, or outside them; return once it is marked."""
    said = await at.telegram.person_sends(at.ann, at.group, text, topic=topic)
    await at.telegram.until(lambda: said.reactions)


async def own_chat(at: Rig, questions: list[dict[str, Any]]) -> tuple[Ask, Chat]:
    ask = await at.submit(questions, to=f"telegram:@{at.ann.id}")
    at.telegram.pass_time()
    return ask, at.telegram.chats[at.ann.id]


@pytest.mark.rule("TELEGRAM-5")
async def test_a_request_in_an_ordinary_supergroup_can_be_answered_with_nothing(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        await press(at, at.ann, live(at.group, ask), LABELS.reply)
        request = await helper(at, at.group, live(at.group, ask))
        assert "message_thread_id" in request.json()
        await press(at, at.ann, request, f"{LABELS.send} {LABELS.none_chosen}")
        await at.telegram.until(lambda: request.id not in at.group.messages)
        assert (await at.shown(ask)).status is Status.CANCELLED


@pytest.mark.rule("TELEGRAM-5")
@pytest.mark.parametrize("said", ["not now", None], ids=["typed", "clicked"])
async def test_a_request_can_be_answered_before_what_it_is_for_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str | None
) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        looked_up = asyncio.Event()
        save, load = at.service.save_draft, at.service.draft

        async def save_late(key: str, value: JsonValue, ask_id: str = "") -> None:
            if "request" in key:
                await looked_up.wait()
            await save(key, value, ask_id)

        async def load_first(key: str) -> JsonValue:
            found = await load(key)
            if "request" in key:
                looked_up.set()
            return found

        monkeypatch.setattr(at.service, "save_draft", save_late)
        monkeypatch.setattr(at.service, "draft", load_first)
        await press(at, at.ann, live(at.group, ask), LABELS.reply)
        request = await helper(at, at.group, live(at.group, ask))
        if said is None:
            await press(at, at.ann, request, f"{LABELS.send} {LABELS.none_chosen}")
        else:
            typed = await at.telegram.person_sends(at.ann, at.group, said, request.id)
            await at.telegram.until(lambda: typed.reactions)
        ask = await at.shown(ask)
        assert (ask.status, ask.walk.reply) == (Status.CANCELLED, said)


@pytest.mark.rule("TELEGRAM-14", "TYPED-1")
@pytest.mark.parametrize("place", ["own chat", "group"])
async def test_a_text_after_reply_is_the_reply_and_no_answer(tmp_path: Path, place: str) -> None:
    async with rig(tmp_path) as at:
        if place == "group":
            ask, chat, text = await at.submit([WHY]), at.group, "@answerback_bot not now, please"
            at.telegram.pass_time()
        else:
            ask, chat = await own_chat(at, [WHY])
            text = "not now, please"
        await press(at, at.ann, live(chat, ask), LABELS.reply)
        request = await helper(at, chat, live(chat, ask))
        said = await at.telegram.person_sends(at.ann, chat, text)
        await at.telegram.until(lambda: said.reactions and request.id not in chat.messages)
        ask = await at.shown(ask)
        assert (ask.status, ask.walk.answers) == (Status.CANCELLED, ())
        assert ask.walk.reply == "not now, please"


@pytest.mark.rule("TELEGRAM-14", "DATA-16")
@pytest.mark.parametrize("quoted", [False, True])
async def test_a_request_can_be_answered_for_as_long_as_its_ask_is_open(
    tmp_path: Path, *, quoted: bool
) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [WHY])
        await press(at, at.ann, live(chat, ask), LABELS.reply)
        request = await helper(at, chat, live(chat, ask))
        await at.until_awaited(request, chat)
        await at.prune()
        at.telegram.pass_time(8 * 86_400)
        replied = request.id if quoted else None
        said = await at.telegram.person_sends(at.ann, chat, "not now", replied)
        await at.telegram.until(lambda: said.reactions)
        assert (await at.shown(ask)).walk.reply == "not now"


@pytest.mark.rule("TELEGRAM-14", "TYPED-1")
@pytest.mark.parametrize("then", ["cancelled", "answered by a button"])
async def test_a_text_answers_again_once_the_request_is_gone(tmp_path: Path, then: str) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [GO, WHY])
        await press(at, at.ann, live(chat, ask), LABELS.reply)
        request = await helper(at, chat, live(chat, ask))
        await at.until_awaited(request, chat)
        if then == "cancelled":
            await press(at, at.ann, request, LABELS.cancel)
            await at.telegram.until(lambda: request.id not in chat.messages)
        await press(at, at.ann, live(chat, ask), LABELS.yes)
        await at.shown(ask)
        await at.until_awaited(None, chat)
        at.telegram.pass_time()
        said = await at.telegram.person_sends(at.ann, chat, "because")
        await at.telegram.until(lambda: said.reactions)
        assert (await at.shown(ask)).walk.answers[-1].value == "because"


@pytest.mark.rule("TELEGRAM-14", "TELEGRAM-16")
@pytest.mark.parametrize("text", ["@answerback_bot not now", "/cancel@answerback_bot"])
async def test_what_is_typed_in_a_topic_is_for_the_last_request_there(
    tmp_path: Path, text: str
) -> None:
    async with rig(tmp_path) as at:
        topics = [at.group.add_topic() for _ in range(2)]
        asks = [await at.submit([WHY], to=f"telegram:{at.group.id}/{each}") for each in topics]
        at.telegram.pass_time()
        for ask in asks:
            await press(at, at.ann, live(at.group, ask), LABELS.reply)
            await helper(at, at.group, live(at.group, ask))
        for topic, said in zip(topics, (text, "@answerback_bot later"), strict=True):
            await say_in_topic(at, topic, said)
        replies = [(await at.shown(ask)).walk.reply for ask in asks]
        assert replies == ["not now" if "not now" in text else None, "later"]


@pytest.mark.rule("TYPED-9")
async def test_a_mention_outside_all_topics_is_for_the_only_question_there(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        topic = at.group.add_topic()
        places = (str(at.group.id), f"{at.group.id}/{topic}")
        asks = [await at.submit([WHY], to=f"telegram:{each}") for each in places]
        at.telegram.pass_time()
        await say_in_topic(at, None, "@answerback_bot because")
        answers = [(await at.shown(ask)).walk.answers for ask in asks]
        assert [[given.value for given in each] for each in answers] == [["because"], []]


@pytest.mark.rule("TELEGRAM-14")
async def test_a_text_after_a_request_that_is_too_late_decides_nothing_else(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [GO])
        other = await at.submit([WHY], to=f"telegram:@{at.ann.id}")
        await press(at, at.ann, live(chat, ask), LABELS.reply)
        await helper(at, chat, live(chat, ask))
        await at.service.withdraw(ask.id)
        at.telegram.pass_time()
        said = await at.telegram.person_sends(at.ann, chat, "stop")
        await at.telegram.until(lambda: said.reactions)
        assert said.reactions == ["👎"]
        assert (await at.shown(other)).status is Status.OPEN


SIZES: dict[str, Any] = {
    "id": "sizes",
    "text": "Which sizes?",
    "answer_type": "schema",
    "schema": {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "m": {"type": "integer"}},
        "required": ["n", "m"],
    },
}


@pytest.mark.rule("TELEGRAM-5")
async def test_an_entry_that_is_wrong_is_answered_with_why_and_asked_for_again(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        ask, chat = await own_chat(at, [SIZES])
        await press(at, at.ann, live(chat, ask), LABELS.fill_in)
        request = await helper(at, chat, live(chat, ask))
        for text in ("many", "3"):
            said = await at.telegram.person_sends(at.ann, chat, text, request.id)
            if text == "many":
                assert "number" in (await helper(at, chat, said)).text
        await at.telegram.until(lambda: request.id not in chat.messages)
        second = [*chat.messages.values()][-1]
        await at.telegram.person_sends(at.ann, chat, "4", second.id)
        await at.telegram.until(lambda: second.id not in chat.messages)
        assert (await at.shown(ask)).walk.answers[-1].value == {"n": 3, "m": 4}


@pytest.mark.rule("TELEGRAM-5")
async def test_a_request_of_which_nothing_is_stored_any_more_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typed_entries, "Backoff", lambda *_: Backoff(0.001, 0.001))
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        await press(at, at.ann, live(at.group, ask), LABELS.reply)
        request = await helper(at, at.group, live(at.group, ask))
        await at.until_awaited(request, at.group)
        await at.service.save_draft(f"telegram:request:{at.group.id}:{request.id}", None)
        empty = f"{LABELS.send} {LABELS.none_chosen}"
        assert await press(at, at.ann, request, empty) == LABELS.not_found
        assert (await at.shown(ask)).status is Status.OPEN


async def test_a_turn_that_is_not_ended_goes_on(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        await press(at, at.ann, live(at.group, ask), LABELS.end_turn)
        confirmation = await helper(at, at.group, live(at.group, ask))
        assert await press(at, at.ann, confirmation, LABELS.keep_going) == LABELS.kept_going
        await at.telegram.until(lambda: confirmation.id not in at.group.messages)
        assert (await at.shown(ask)).revision == 1


@pytest.mark.rule("TELEGRAM-1")
async def test_submit_takes_no_selection_that_its_message_did_not_show(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        which = {"id": "which", "text": "?", "answer_type": "multi_select", "options": ["A", "B"]}
        ask = await at.submit([which])
        shown = live(at.group, ask)
        [submit] = [b["callback_data"] for b in shown.buttons if b["text"] == LABELS.submit]
        await press(at, at.ann, shown, "☐ A")
        note = await send_click(at, at.ann, shown, submit)
        assert note == LABELS.selection_changed.format(submit=LABELS.submit)
        assert (await at.shown(ask)).status is Status.OPEN
        await press(at, at.ann, shown, LABELS.submit)
        assert (await at.shown(ask)).walk.answers[-1].value == ["A"]


async def test_the_preview_of_an_option_is_shown_below_the_message(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        options = [{"label": "Cards", "description": "x", "preview": "A **grid**"}]
        options.append({"label": "List", "description": "y"})
        question = {"question": "Which layout?", "header": "Layout", "options": options}
        arguments = {"questions": [question | {"multiSelect": False}]}
        ask = await at.submit([], name="AskUserQuestion", arguments=arguments)
        await press(at, at.ann, live(at.group, ask), LABELS.preview)
        shown = await helper(at, at.group, live(at.group, ask))
        assert "1. Cards" in shown.text
        assert "grid" in shown.text
        assert "List" not in shown.text
