"""Which ask a typed message is meant for, if any, and what its author is told if it is not accepted."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core.asides import UNOPENED
from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.ports.store import Decision, Write
from answerback.service.service import Service
from answerback_chat import bot_listener, retry
from answerback_discord import private_notes
from answerback_discord.markdown_text import escape
from tests.fakes.discord.world import Channel, Message
from tests.service_support import WAIT
from tests.unit.adapters.discord.rig import Rig, rig
from tests.unit.adapters.discord.test_starting import when_logged

TEXT: list[dict[str, Any]] = [{"id": "why", "text": "Why so?", "answer_type": "text"}]
LABELS = Labels()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_LONGEST_PAUSE", 0.01)


async def submit_ask(up: Rig, *, directly: bool = False) -> Ask:
    to = {"to": f"discord:@{up.ann.id}", "responders": None} if directly else {}
    return await up.shown(await up.submit(TEXT, **to))


async def forget_message_id(up: Rig, ask: Ask) -> None:
    """Leave an ask as if its process had died between posting the message and storing its id."""

    def decide(latest: Ask | None) -> Decision[None]:
        assert latest is not None
        mark = {
            k: v for k, v in (latest.placement.message or {}).items() if k not in {"id", "thread"}
        }
        before = replace(
            latest,
            placement=replace(
                latest.placement,
                message=mark,
                thread=None,
                was_visible=False,
                seen_since=None,
                shown_revision=0,
            ),
            opening=UNOPENED,
        )
        return Decision(Write(before), None)

    await up.store.asks.change(ask.id, decide)


def channel(up: Rig, number: str | None) -> Channel:
    return up.discord.world.channel(int(number or 0))


def prompt(up: Rig, ask: Ask) -> Message:
    message = ask.placement.message or {}
    return channel(up, str(message["channel"])).messages[int(str(message["id"]))]


def own_thread(up: Rig, ask: Ask) -> Channel:
    assert ask.placement.thread is not None
    return channel(up, ask.placement.thread.id)


async def wait_for_mark(up: Rig, message: Message, emoji: str) -> None:
    await up.ann.until(lambda: emoji in message.reactions)


async def find_note(up: Rig, sentence: str) -> Message:
    """The message to Ann with this sentence."""
    return (await up.ann.finds(escape(sentence), up.discord.direct(up.ann.user))).message


async def answers(up: Rig, *asks: Ask) -> list[list[Any]]:
    return [[given.value for given in (await up.shown(ask)).walk.answers] for ask in asks]


async def test_a_reply_to_a_reminder_answers_its_ask(up: Rig) -> None:
    older, newer = await submit_ask(up, directly=True), await submit_ask(up, directly=True)
    await up.surface.remind(older, 0)
    reminder = (await up.ann.finds("still waiting")).message
    await wait_for_mark(up, up.ann.replies(reminder, "for the older"), "✅")
    assert await answers(up, older, newer) == [["for the older"], []]


@pytest.mark.rule("TYPED-1")
async def test_text_that_is_not_meant_for_the_ask_is_never_an_answer(up: Rig) -> None:
    bob = up.discord.person("bob", up.guild)
    ask = await submit_ask(up)
    thread = own_thread(up, ask)
    question = bob.types(thread, "did you check the backup?")
    said = [up.ann.types(thread, "yes"), up.ann.replies(question, "yes, I did")]
    said.append(up.ann.types(up.channel, "yes"))
    await wait_for_mark(up, up.ann.mention_bot(thread, "because"), "✅")
    assert [message.reactions for message in said] == [{}, {}, {}]
    assert await answers(up, ask) == [["because"]]
    # To post, and where the bot was called. Messages may be read as well: the service catches up after its start.
    looked_up = {call.place for call in up.discord.faults.calls("GET /channels/*")}
    places = {place for place in looked_up if not place.endswith("/messages")}
    assert places == {f"GET /channels/{up.channel.id}", f"GET /channels/{thread.id}"}


async def test_chatter_between_people_causes_no_requests(up: Rig) -> None:
    ask = await submit_ask(up)
    before = len(up.discord.faults.log)
    for number in range(5):
        place = up.discord.add_channel(up.guild, f"off-topic {number}")
        first = up.ann.types(place, "lunch, anybody?")
        up.ann.types(place, "me", reply_to=first)
        up.ann.types(up.discord.add_thread(place), "where?")
    up.ann.types(own_thread(up, ask), "not there again")
    await wait_for_mark(up, up.ann.replies(prompt(up, ask), "because"), "✅")
    read = [call.place for call in up.discord.faults.log[before:] if call.method == "GET"]
    # Lists of messages may still be read here: the service catches up after its start.
    assert [place for place in read if not place.endswith("/messages")] == []


@pytest.mark.rule("TYPED-1")
async def test_a_reply_to_the_prompt_needs_no_ping(up: Rig) -> None:
    ask = await submit_ask(up)
    await wait_for_mark(up, up.ann.replies(prompt(up, ask), "quietly", ping=False), "✅")
    assert await answers(up, ask) == [["quietly"]]


async def test_a_mention_in_a_channel_answers_its_only_question(up: Rig) -> None:
    thread = up.discord.add_thread(up.channel)
    elsewhere = await up.shown(await up.submit(TEXT, to=f"discord:{up.channel.id}/{thread.id}"))
    ask = await submit_ask(up)
    await wait_for_mark(up, up.ann.mention_bot(up.channel, "for this"), "✅")
    assert await answers(up, ask, elsewhere) == [["for this"], []]


async def test_a_reply_to_an_ended_prompt_answers_no_other_ask(up: Rig) -> None:
    ended, open_ = await submit_ask(up, directly=True), await submit_ask(up, directly=True)
    await wait_for_mark(up, up.ann.replies(prompt(up, ended), "first"), "✅")
    await up.shown(ended)
    await wait_for_mark(up, up.ann.replies(prompt(up, ended), "that was all"), "❌")
    await find_note(up, LABELS.nothing_open)
    assert await answers(up, open_) == [[]]


async def test_a_reply_to_a_record_in_a_channel_is_ignored(up: Rig) -> None:
    ended, other = await submit_ask(up), await submit_ask(up)
    await wait_for_mark(up, up.ann.replies(prompt(up, ended), "first"), "✅")
    await up.shown(ended)
    chatter = up.ann.replies(prompt(up, ended), "well said")
    await wait_for_mark(up, up.ann.replies(prompt(up, other), "second"), "✅")
    assert chatter.reactions == {}
    assert await answers(up, ended, other) == [["first"], ["second"]]


@pytest.mark.parametrize("directly", [True, False])
async def test_a_reply_finds_its_ask_however_many_are_open_there(up: Rig, directly: bool) -> None:
    asks = [await submit_ask(up, directly=directly) for _ in range(11)]
    await wait_for_mark(up, up.ann.replies(prompt(up, asks[0]), "for the oldest"), "✅")
    assert await answers(up, *asks) == [["for the oldest"], *[[] for _ in asks[1:]]]


@pytest.mark.rule("TYPED-9")
async def test_the_author_of_ambiguous_text_is_asked_which_question_is_meant(up: Rig) -> None:
    asks = [await submit_ask(up, directly=True) for _ in range(2)]
    unclear = up.ann.dm("which is it for?")
    said = (await up.ann.finds(LABELS.which_one_quote)).message
    assert said.reply_to == unclear.id
    assert await answers(up, *asks) == [[], []]
    await wait_for_mark(up, up.ann.replies(prompt(up, asks[1]), "this one"), "✅")
    assert await answers(up, *asks) == [[], ["this one"]]
    await wait_for_mark(up, up.ann.dm("there is one now"), "✅")
    assert await answers(up, *asks) == [["there is one now"], ["this one"]]


@pytest.mark.rule("TYPED-9")
async def test_in_a_thread_with_several_questions_the_text_must_say_which(up: Rig) -> None:
    thread = up.discord.add_thread(up.channel)
    to = f"discord:{up.channel.id}/{thread.id}"
    asks = [await up.shown(await up.submit(TEXT, to=to)) for _ in range(2)]
    unclear = up.ann.mention_bot(thread, "go on")
    await wait_for_mark(up, unclear, "❌")
    note = await find_note(up, LABELS.which_one_quote)
    place = {"guild": str(up.guild.id), "channel": str(thread.id), "id": str(unclear.id)}
    link = private_notes.message_url(place)
    assert note.content.splitlines()[0] == LABELS.about_message.format(link=link)
    assert note.content.count("https://") == 1
    await wait_for_mark(up, up.ann.replies(prompt(up, asks[0]), "go on"), "✅")
    assert await answers(up, *asks) == [["go on"], []]


SCHEMA = {"answer_type": "schema", "schema": {"type": "integer"}}
COLOURS = {"answer_type": "select", "options": ["red", "green"]}


@pytest.mark.rule("TYPED-3", "TYPED-7")
@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        (SCHEMA, "3", LABELS.text_for_schema.format(fill_in="Fill in")),
        (COLOURS, "which is better?", LABELS.text_for_select),
        ({"answer_type": "boolean"}, "sure", LABELS.text_for_boolean.format(yes="Yes", no="No")),
        ({"answer_type": "text"}, "", LABELS.text_missing),
    ],
)
async def test_a_mention_that_cannot_be_accepted_is_answered_directly_with_what_to_do(
    up: Rig, question: dict[str, Any], text: str, said: str
) -> None:
    ask = await up.shown(await up.submit([{"id": "q", "text": "What?", **question}]))
    message = up.ann.mention_bot(own_thread(up, ask), text)
    await wait_for_mark(up, message, "❌")
    note = await find_note(up, said)
    assert note.content.startswith("**What?**\n")
    assert note.content.count("https://") == 1
    assert note.content.endswith(f" {private_notes.message_url(ask.placement.message or {})}")
    assert (await up.shown(ask)).revision == ask.revision


async def test_a_reply_to_a_note_answers_the_question_it_is_about(up: Rig) -> None:
    ask = await up.shown(await up.submit([{"id": "q", "text": "What?", **COLOURS}]))
    up.ann.mention_bot(own_thread(up, ask), "blue")
    note = await find_note(up, LABELS.text_for_select)
    await wait_for_mark(up, up.ann.replies(note, "green"), "✅")
    assert await answers(up, ask) == [["green"]]


async def test_a_person_who_accepts_no_direct_messages_is_told_in_place(up: Rig) -> None:
    ask = await up.shown(await up.submit([{"id": "q", "text": "What?", **COLOURS}]))
    up.ann.user.dms_open = False
    thread = own_thread(up, ask)
    message = up.ann.mention_bot(thread, "blue")
    await wait_for_mark(up, message, "❌")
    note = (await up.ann.finds("none of the options", thread)).message
    assert note.reply_to == message.id
    assert up.discord.pings == []


async def test_a_person_who_may_not_answer_and_mentions_the_bot_is_told_who_may(up: Rig) -> None:
    eve = up.discord.person("eve", up.guild)
    ask = await submit_ask(up)
    await wait_for_mark(up, eve.mention_bot(own_thread(up, ask), "I say no"), "❌")
    assert f"<@{up.ann.id}>" in (await eve.finds("Only")).message.content
    assert await answers(up, ask) == [[]]


@pytest.mark.rule("TYPED-6")
async def test_text_is_not_taken_while_nobody_can_say_which_question_its_author_saw(
    tmp_path: Path,
) -> None:
    go = {"id": "go", "text": "Go on?", "answer_type": "boolean"}
    async with rig(tmp_path, "http", confirm_after=3_600.0) as up:
        ask = await up.shown(await up.submit([go, *TEXT]))
        message = prompt(up, ask)
        assert (await up.ann.click("Yes")).answered
        up.discord.faults.page("GET /channels/*/messages/*")
        await wait_for_mark(up, up.ann.replies(message, "because"), "❌")
        await wait_for_mark(up, up.ann.replies(message, "because I say so"), "✅")
        stored = await up.store.asks.get(ask.id)
        assert stored is not None
        assert [given.value for given in stored.walk.answers] == [True, "because I say so"]


async def test_a_mark_that_cannot_be_set_keeps_nobody_from_being_told(up: Rig) -> None:
    ask = await up.shown(await up.submit([{"id": "q", "text": "What?", **COLOURS}]))
    up.discord.faults.code("PUT /channels/*", 50013)
    message = up.ann.mention_bot(own_thread(up, ask), "blue")
    await find_note(up, LABELS.text_for_select)
    assert message.reactions == {}


async def test_two_people_who_type_at_once_answer_one_question(up: Rig) -> None:
    bob = up.discord.person("bob", up.guild)
    who = [str(up.ann.id), str(bob.id)]
    two = [*TEXT, {**TEXT[0], "id": "more"}]
    ask = await up.shown(await up.submit(two, responders=who))
    said = [person.replies(prompt(up, ask), "mine") for person in (up.ann, bob)]
    await up.ann.until(lambda: all(message.reactions for message in said))
    assert sorted(emoji for message in said for emoji in message.reactions) == ["✅", "❌"]
    assert await answers(up, ask) == [["mine"]]
    await up.shown(ask)  # words count from when the question can be seen
    await wait_for_mark(up, bob.replies(prompt(up, ask), "and now this"), "✅")
    assert await answers(up, ask) == [["mine", "and now this"]]


async def test_text_is_accepted_once_discord_returns_its_channel(up: Rig) -> None:
    ask = await submit_ask(up)
    up.discord.faults.server_error("GET /channels/*")
    up.discord.faults.rate_limit("PUT /channels/*", retry_after=0.3)
    await wait_for_mark(up, up.ann.mention_bot(own_thread(up, ask), "not lost"), "✅")
    assert await answers(up, ask) == [["not lost"]]


@pytest.mark.usefixtures("impatient")
async def test_the_author_of_text_that_cannot_be_handled_is_told_it_was_lost(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await submit_ask(up)
    up.discord.faults.server_error("GET /channels/*", times=4)
    await wait_for_mark(up, up.ann.mention_bot(own_thread(up, ask), "lost"), "❌")
    await find_note(up, LABELS.text_not_saved)

    async def broken(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as broken_for_now:
        broken_for_now.setattr(Service, "apply", broken)
        await wait_for_mark(up, up.ann.mention_bot(own_thread(up, ask), "lost again"), "❌")
    await wait_for_mark(up, up.ann.mention_bot(own_thread(up, ask), "here now"), "✅")
    assert await answers(up, ask) == [["here now"]]


async def test_a_crash_while_handling_a_message_is_logged_and_delays_no_other(
    up: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ask = await submit_ask(up)
    crashed = asyncio.Event()

    async def odd(*_: object, **__: object) -> None:
        crashed.set()
        raise KeyError("unforeseen")

    with monkeypatch.context() as odd_for_now:
        odd_for_now.setattr(Service, "apply", odd)
        up.ann.mention_bot(own_thread(up, ask), "odd")
        async with asyncio.timeout(WAIT):
            await crashed.wait()
    await wait_for_mark(up, up.ann.mention_bot(own_thread(up, ask), "here now"), "✅")
    assert await answers(up, ask) == [["here now"]]
    [failed] = [each for each in caplog.records if each.message == "A message failed"]
    assert failed.exc_info is not None


@pytest.mark.usefixtures("impatient")
async def test_a_note_that_cannot_be_sent_is_logged(
    up: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    ask = await submit_ask(up)
    up.discord.faults.server_error("POST /users/@me/channels", times=4)
    logged = when_logged(caplog, "could not be told what became of it")
    await wait_for_mark(up, up.ann.mention_bot(own_thread(up, ask), ""), "❌")
    async with asyncio.timeout(WAIT):
        await logged.wait()
    assert up.discord.faults.count("POST /users/@me/channels") == 4
    await wait_for_mark(up, up.ann.mention_bot(own_thread(up, ask), "here now"), "✅")


@pytest.mark.rule("TYPED-8", "CLAIM-12")
async def test_a_reply_to_a_message_whose_process_died_before_storing_it_waits_until_it_is_stored(
    up: Rig,
) -> None:
    ask = await submit_ask(up)
    message = prompt(up, ask)
    await forget_message_id(up, ask)
    said = up.ann.replies(message, "because")
    async with asyncio.timeout(WAIT):
        while not up.surface._background._tasks:  # noqa: ASYNC110 it tells nobody
            await asyncio.sleep(0)
    up.message_sync.request_sync(await up.shown(ask))
    await wait_for_mark(up, said, "✅")
    assert (await up.shown(ask)).walk.answers[0].value == "because"
    assert sum(one.author_id == up.discord.bot.id for one in up.channel.messages.values()) == 1


async def test_the_author_of_a_reply_to_a_message_that_is_never_stored_is_told(
    up: Rig, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bot_listener, "MESSAGE_ID_TIMEOUT", 0.0)
    ask = await submit_ask(up)
    message = prompt(up, ask)
    await forget_message_id(up, ask)
    await wait_for_mark(up, up.ann.replies(message, "because"), "❌")
    await find_note(up, LABELS.text_not_saved)
