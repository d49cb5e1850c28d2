"""Typed messages: accepted if they are meant for an ask, left alone otherwise."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from answerback.core.ask import Status
from tests.fakes.slack import methods_chat
from tests.fakes.slack.workspace import BOT_USER, Message
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, MODES, Mode, Rig, rig

NOTE = {"id": "note", "text": "A note?", "answer_type": "text"}
ENV = {
    "id": "env",
    "text": "Which environment?",
    "answer_type": "select",
    "options": ["staging", "production"],
}


@pytest.mark.parametrize("mode", MODES)
async def test_the_same_event_again_changes_nothing(tmp_path: Path, mode: Mode) -> None:
    async with rig(tmp_path, mode) as up:
        await _assert_an_event_counts_once(up)


async def _assert_an_event_counts_once(up: Rig) -> None:
    ask = await up.submit(NOTE, {**NOTE, "id": "more"})
    said = await up.type_answer(ask, "first")
    await up.wait_until_marked(said)
    [event] = [
        e
        for e in up.slack.queue.events
        if (e.envelope["event"].get("ts"), e.envelope["event"]["type"]) == (said.ts, "message")
    ]
    way = up.slack.http
    again = (
        way.post(way.request("events_api", event.envelope, timestamp=int(time.time()) - 2))
        if way.url
        else up.slack.socket.send("events_api", event.envelope)
    )
    assert (await again).ok
    assert (await up.shown(ask)).revision == 2


@pytest.mark.rule("TYPED-1")
async def test_in_any_thread_only_mentions_are_meant_for_the_bot(up: Rig) -> None:
    parent = await up.bob.post(CHANNEL, "Deploying now")
    ask = await up.submit(NOTE, to=f"slack:{CHANNEL}/{parent.ts}")
    await up.ada.post(CHANNEL, "what a day", thread=parent.ts)
    await up.wait_until_marked(await up.ada.mention_bot(CHANNEL, "all <good>", thread=parent.ts))
    ask = await up.shown(ask)
    assert [g.value for g in ask.walk.answers] == ["all <good>"]
    assert up.ada.private_notes(CHANNEL) == []


async def test_a_mention_in_the_channel_is_for_the_only_question_there(up: Rig) -> None:
    parent = await up.bob.post(CHANNEL, "Deploying now")
    other = await up.submit(NOTE, to=f"slack:{CHANNEL}/{parent.ts}")
    ask = await up.submit(ENV)
    await up.wait_until_marked(await up.ada.mention_bot(CHANNEL, "staging"))
    assert (await up.shown(ask)).status is Status.ANSWERED
    assert (await up.shown(other)).open


async def test_a_text_is_accepted_as_a_whole(up: Rig) -> None:
    ask = await up.submit(NOTE)
    text = "Tell <@U0BOT> to stop.\n\n<@U0BOT> may go on, see <https://ci.example/7|the run>"
    await up.wait_until_marked(
        await up.ada.post(CHANNEL, text, thread=up.live(ask).ts, escape=False)
    )
    [given] = (await up.shown(ask)).walk.answers
    assert given.value == (
        "Tell @U0BOT to stop.\n\n@U0BOT may go on, see the run (https://ci.example/7)"
    )


@pytest.mark.rule("TYPED-1")
@pytest.mark.parametrize(
    ("question", "text"),
    [
        ({"answer_type": "boolean"}, "yes"),
        ({"answer_type": "select", "options": ["db-1", "db-2"]}, "2"),
        ({"answer_type": "select", "options": ["staging", "production"]}, "production"),
        ({"answer_type": "multi_select", "options": ["staging", "production"]}, "production"),
        ({"answer_type": "schema", "schema": {"type": "integer"}}, "3"),
    ],
)
async def test_conversation_between_colleagues_is_never_an_answer(
    up: Rig, question: dict[str, object], text: str
) -> None:
    ask = await up.submit({"id": "q", "text": "Deploy?", **question})
    live = up.live(ask)
    await up.bob.type_in_thread(live, "did you check the backup?")
    said = await up.ada.type_in_thread(live, text)
    await up.ada.post(CHANNEL, text)
    await up.slack.queue.settle()
    assert (await up.shown(ask)).revision == 1
    assert said.reactions == {}
    assert up.ada.private_notes(CHANNEL) == up.bob.private_notes(CHANNEL) == []


async def test_a_file_with_text_counts_and_so_does_a_broadcast(up: Rig) -> None:
    ask = await up.submit(NOTE, {**NOTE, "id": "more"})
    thread = up.live(ask).ts
    for extra in ({"files": [{"id": "F1"}]}, {"broadcast": True}):
        up.slack.clock.advance(2)
        text = "<@U0BOT> see the file"
        said = await up.ada.post(CHANNEL, text, thread=thread, escape=False, **extra)
        await up.wait_until_marked(said)
        await up.shown(ask)
    assert (await up.shown(ask)).status is Status.ANSWERED


@pytest.mark.rule("TYPED-1")
async def test_in_a_direct_message_any_message_counts_while_one_question_is_open(up: Rig) -> None:
    to = {"to": f"slack:@{up.ada.id}", "responders": None}
    ask = await up.submit(NOTE, **to)
    await up.wait_until_marked(await up.ada.type_dm("yes"))
    assert (await up.shown(ask)).status is Status.ANSWERED
    first, second = await up.submit(NOTE, **to), await up.submit(NOTE, **to)
    await up.ada.type_dm("which is it for?")
    assert await up.wait_for_notes(up.ada, channel="D0ADA") == [LABELS.which_one_thread]
    await up.wait_until_marked(await up.ada.type_in_thread(up.live(second), "this one"))
    assert (await up.shown(second)).status is Status.ANSWERED
    assert (await up.shown(first)).open


@pytest.mark.rule("TYPED-9")
async def test_in_a_thread_with_several_questions_the_text_must_say_which(up: Rig) -> None:
    parent = await up.bob.post(CHANNEL, "Deploying now")
    to = f"slack:{CHANNEL}/{parent.ts}"
    asks = [await up.submit(NOTE, to=to), await up.submit(NOTE, to=to)]
    await up.ada.mention_bot(CHANNEL, "go on", thread=parent.ts)
    assert await up.wait_for_notes(up.ada) == [LABELS.which_one]
    assert [(await up.shown(ask)).revision for ask in asks] == [1, 1]


SCHEMA = {"id": "s", "text": "How many?", "answer_type": "schema", "schema": {"type": "integer"}}


@pytest.mark.rule("TYPED-3", "TYPED-7")
@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        (ENV, "which is better?", LABELS.text_for_select),
        ({**ENV, "options": ["Ab", "aB"]}, "ab", LABELS.text_ambiguous.format(text="ab")),
        ({**NOTE, "answer_type": "boolean"}, "sure", LABELS.text_for_boolean.format(yes="Yes", no="No")),
        (SCHEMA, "3", LABELS.text_for_schema.format(fill_in="Fill in")),
        (NOTE, "", LABELS.text_missing),
    ],
)  # fmt: skip
async def test_a_mention_that_cannot_be_accepted_gets_a_private_reply_with_advice(
    up: Rig, question: dict[str, object], text: str, expected: str
) -> None:
    ask = await up.submit(question)
    said = await up.type_answer(ask, text)
    [note] = await up.wait_for_notes(up.ada)
    assert note.startswith(expected)
    assert ask.placement.thread is not None
    assert note.endswith(str(ask.placement.thread.url))
    await up.slack.queue.settle()
    assert (said.reactions, (await up.shown(ask)).revision) == ({}, 1)
    assert up.bob.private_notes(CHANNEL) == []


@pytest.mark.rule("TYPED-7")
async def test_a_mention_without_an_open_ask_and_one_by_a_stranger_get_a_reply(up: Rig) -> None:
    await up.bob.mention_bot(CHANNEL, "yes")
    assert await up.wait_for_notes(up.bob) == [LABELS.nothing_open]
    ask = await up.submit(NOTE)
    await up.type_answer(ask, "yes", up.bob)
    # Slack sends an event that is acknowledged late again, and so may come the first note.
    await up.slack.until(lambda: any("Only" in note for note in up.bob.private_notes(CHANNEL)))
    assert (await up.shown(ask)).revision == 1


@pytest.mark.parametrize("status", [429, 500])
async def test_an_accepted_answer_is_marked_even_if_slack_fails_once(up: Rig, status: int) -> None:
    ask = await up.submit(NOTE)
    up.slack.faults.add("reactions.add", status=status)
    await up.wait_until_marked(await up.type_answer(ask, "taken"))
    assert up.slack.count("reactions.add") == 2
    assert (await up.shown(ask)).status is Status.ANSWERED


@pytest.mark.usefixtures("impatient")
async def test_a_message_by_somebody_who_cannot_be_looked_up_is_sent_again(up: Rig) -> None:
    up.slack.workspace.add_group("S0OPS", up.ada.id)
    up.slack.faults.add(
        "usergroups.users.list", status=503, times=2
    )  # for when it is shown, and when she types
    ask = await up.submit(NOTE, responders=["@S0OPS"])
    await up.slack.until(lambda: up.slack.count("usergroups.users.list") == 1)
    await up.wait_until_marked(await up.type_answer(ask, "my words"))
    assert (await up.shown(ask)).walk.answers[0].value == "my words"
    assert up.ada.private_notes(CHANNEL) == []


async def test_two_people_who_type_at_once_answer_only_one_question(up: Rig) -> None:
    ask = await up.submit(NOTE, {**NOTE, "id": "more"}, responders=[up.ada.id, up.bob.id])
    thread = up.live(ask).ts
    held = up.slack.faults.add("chat.update", hang=True)
    first = await up.ada.mention_bot(CHANNEL, "ada's", thread=thread)
    second = await up.bob.mention_bot(CHANNEL, "bob's", thread=thread)
    await up.slack.until(lambda: first.reactions or second.reactions)
    slower = up.ada if second.reactions else up.bob
    [note] = await up.wait_for_notes(slower)
    assert note.startswith(LABELS.text_before_shown.format(question="A note?"))
    held.release()
    await up.slack.queue.settle()
    assert len((await up.shown(ask)).walk.answers) == 1
    said = await up.type_answer(ask, "now", slower)
    await up.wait_until_marked(said)
    assert (await up.shown(ask)).status is Status.ANSWERED


@pytest.mark.rule("TYPED-6")
async def test_a_message_typed_before_a_click_does_not_answer_the_question_it_opened(
    up: Rig,
) -> None:
    ask = await up.submit(ENV, NOTE, responders=[up.ada.id, up.bob.id])
    live, thread = up.live(ask), up.live(ask).ts
    text = f"<@{BOT_USER}> staging"
    before = Message(CHANNEL, up.slack.workspace.next_ts(), up.ada.id, text, thread_ts=thread)
    await up.bob.click(live, "production")
    await up.shown(ask)
    up.slack.workspace.put(before)
    methods_chat.announce(up.slack, before)
    too_early = LABELS.text_too_early.format(question=NOTE["text"])
    assert (await up.wait_for_notes(up.ada))[0].startswith(too_early)
    assert [g.value for g in (await up.shown(ask)).walk.answers] == ["production"]


@pytest.mark.rule("TYPED-6", "TYPED-7")
@pytest.mark.parametrize("fault", [{"status": 429}, {"status": 500}, {"hang": True}])
async def test_text_that_a_person_types_before_their_click_shows_the_next_question_never_answers_it(
    up: Rig, fault: dict[str, Any]
) -> None:
    ask = await up.submit(ENV, NOTE)
    held = up.slack.faults.add("chat.update", times=None, **fault)
    await up.ada.click(up.live(ask), "production")
    await up.slack.until(lambda: held.hits)
    await up.ada.mention_bot(CHANNEL, "meant for the first", thread=up.live(ask).ts)
    assert (await up.wait_for_notes(up.ada))[0].startswith(
        LABELS.text_before_shown.format(question="A note?")
    )
    up.slack.faults.clear()
    assert [g.value for g in (await up.shown(ask)).walk.answers] == ["production"]
    up.slack.clock.advance(2)
    said = await up.ada.mention_bot(CHANNEL, "meant for the second", thread=up.live(ask).ts)
    await up.wait_until_marked(said)
    assert (await up.shown(ask)).status is Status.ANSWERED


@pytest.mark.rule("TYPED-6")
async def test_a_slack_clock_that_is_hours_off_makes_no_difference(
    up: Rig,
) -> None:
    for hours in (-5, 5):
        up.slack.workspace._last_ts = 0
        up.slack.clock.ahead = hours * 3600
        ask = await up.submit(NOTE)
        await up.wait_until_marked(await up.type_answer(ask, "on time"))
        assert (await up.shown(ask)).status is Status.ANSWERED


@pytest.mark.usefixtures("impatient")
async def test_an_event_that_cannot_be_saved_is_sent_again(up: Rig) -> None:
    ask = await up.submit(NOTE)
    await up.app.store.close()
    said = await up.type_answer(ask, "keep me")
    [event] = [e for e in up.slack.queue.events if e.envelope["event"].get("ts") == said.ts][:1]
    await up.slack.until(lambda: event.attempts)
    assert not event.acked
    await up.app.store.open()
    await up.wait_until_marked(said)
    assert (await up.shown(ask)).walk.answers[0].value == "keep me"


@pytest.mark.usefixtures("impatient")
async def test_a_message_in_the_thread_of_an_unconfirmed_post_is_sent_again(up: Rig) -> None:
    up.slack.faults.add("chat.postMessage", drop=True, when="after")
    looking = up.slack.faults.add("conversations.history", times=None, status=503)
    submitting = asyncio.create_task(up.submit(NOTE))
    await up.slack.until(lambda: looking.hits)
    [live] = up.slack.messages(CHANNEL)
    said = await _mention_and_expect_no_ack(up, live)
    up.slack.faults.clear()
    ask = await submitting
    await up.slack.queue.redeliver(up.slack.way)
    await up.wait_until_marked(said)
    assert (await up.shown(ask)).walk.answers[0].value == "already here"


@pytest.mark.usefixtures("impatient")
async def test_a_post_counts_as_unconfirmed_however_many_questions_are_newer(up: Rig) -> None:
    ask, *_ = [await up.submit(NOTE) for _ in range(11)]
    up.slack.faults.add("chat.postMessage", drop=True, when="after")
    looking = up.slack.faults.add("conversations.history", times=None, status=503)
    await up.ada.delete(up.live(ask))
    await up.slack.until(lambda: looking.hits)
    said = await _mention_and_expect_no_ack(up, up.live(ask))
    up.slack.faults.clear()
    await up.slack.queue.redeliver(up.slack.way)
    await up.wait_until_marked(said)
    assert (await up.shown(ask)).walk.answers[0].value == "already here"


async def _mention_and_expect_no_ack(up: Rig, first: Message) -> Message:
    """Mention the bot in the thread of a message; return the mention, which Slack has to send again."""
    said = await up.ada.mention_bot(CHANNEL, "already here", thread=first.ts)
    [event] = [e for e in up.slack.queue.events if e.envelope["event"].get("ts") == said.ts][:1]
    await up.slack.until(lambda: event.attempts)
    assert not event.acked
    return said


async def test_a_message_in_the_thread_of_a_post_confirmed_during_the_lookup_is_accepted(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await up.submit(NOTE)
    not_yet = AsyncMock(return_value=[])
    monkeypatch.setattr(up.app.service, "list_open_at", not_yet)
    await up.wait_until_marked(await up.type_answer(ask, "just in time"))
    not_yet.assert_awaited_once()
    assert (await up.shown(ask)).walk.answers[0].value == "just in time"


async def test_other_threads_are_left_alone_while_a_post_is_unconfirmed(up: Rig) -> None:
    up.slack.faults.add("chat.postMessage", drop=True, when="after")
    looking = up.slack.faults.add("conversations.history", times=None, status=503)
    submitting = asyncio.create_task(up.submit(NOTE))
    await up.slack.until(lambda: looking.hits)
    text = f"<@{BOT_USER}> lunch?"
    event = {"type": "message", "user": up.ada.id, "text": text, "ts": f"{time.time():.6f}"}
    event |= {"channel": CHANNEL, "channel_type": "channel", "thread_ts": "1716400000.000100"}
    ack = await up.slack.way.send("events_api", {"type": "event_callback", "event": event})
    assert ack.ok
    up.slack.faults.clear()
    assert (await submitting).revision == 1


@pytest.mark.rule("TYPED-4")
async def test_a_mark_that_is_there_already_is_not_reported(
    up: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    ask = await up.submit(NOTE, {**NOTE, "id": "more"})
    up.slack.faults.add("reactions.add", error="already_reacted", when="after")
    for text in ("because", "and because"):
        await up.wait_until_marked(await up.type_answer(ask, text))
        await up.shown(ask)
    assert "already_reacted" not in caplog.text
