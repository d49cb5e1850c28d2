"""What people type: taken where it is meant for an ask, left alone everywhere else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.slack import typed
from bot.ask import Status
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, MODES, Rig, rig

NOTE = {"id": "note", "text": "A note?", "answer_type": "text"}
ENV = {
    "id": "env",
    "text": "Which environment?",
    "answer_type": "select",
    "options": ["staging", "production"],
}


@pytest.fixture(params=MODES)
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path, request.param) as made:
        yield made


async def test_a_reply_in_the_prompts_own_thread_is_the_answer_and_is_marked(up: Rig) -> None:
    ask = await up.submit(NOTE)
    said = await up.ada.type_in_thread(up.live(ask), "use <b> & 'c' at example.com")
    await up.slack.until(lambda: said.reactions)
    assert said.reactions == {"white_check_mark": ["U0BOT"]}
    ask = await up.shown(ask)
    assert ask.walk.answers[0].value == "use <b> & 'c' at example.com"
    assert "use <b> & 'c'" in up.ada.sees(up.live(ask)).text


async def test_the_same_event_again_changes_nothing(up: Rig) -> None:
    ask = await up.submit(NOTE, {**NOTE, "id": "more"})
    said = await up.ada.type_in_thread(up.live(ask), "first")
    await up.slack.until(lambda: said.reactions)
    [event] = [e for e in up.slack.queue.events if e.envelope["event"].get("ts") == said.ts]
    way = up.slack.http
    again = (
        way.post(way.request("events_api", event.envelope, timestamp=int(time.time()) - 2))
        if way.url
        else up.slack.socket.send("events_api", event.envelope)
    )
    assert (await again).ok
    assert (await up.shown(ask)).revision == 2


async def test_options_are_chosen_by_label_or_number(up: Rig) -> None:
    ask = await up.submit(ENV, {**ENV, "id": "second"})
    for text, value in (("Production", "production"), ("1", "staging")):
        said = await up.ada.type_in_thread(up.live(ask), text)
        await up.slack.until(lambda s=said: s.reactions)  # type: ignore[misc]
        ask = await up.shown(ask)
        assert ask.walk.answers[-1].value == value


async def test_a_given_thread_is_left_alone_but_for_a_mention(up: Rig) -> None:
    parent = await up.bob.post(CHANNEL, "Deploying now")
    ask = await up.submit(NOTE, to=f"slack:{CHANNEL}/{parent.ts}")
    await up.ada.post(CHANNEL, "what a day", thread=parent.ts)
    said = await up.ada.mention_bot(CHANNEL, "all <good>", thread=parent.ts)
    await up.slack.until(lambda: said.reactions)
    ask = await up.shown(ask)
    assert [g.value for g in ask.walk.answers] == ["all <good>"]


async def test_words_are_taken_whole(up: Rig) -> None:
    ask = await up.submit(NOTE)
    words = "Tell <@U0BOT> to stop.\n\n<@U0BOT> may go on, see <https://ci.example/7|the run>"
    said = await up.ada.post(CHANNEL, words, thread=up.live(ask).ts, escape=False)
    await up.slack.until(lambda: said.reactions)
    [given] = (await up.shown(ask)).walk.answers
    assert given.value == (
        "Tell @U0BOT to stop.\n\n@U0BOT may go on, see the run (https://ci.example/7)"
    )


async def test_a_conversation_is_never_swallowed(up: Rig) -> None:
    ask = await up.submit(ENV)
    live = up.live(ask)
    await up.bob.type_in_thread(live, "staging")  # may not act, and only talks
    await up.ada.type_in_thread(live, "hm, which one do you mean?")
    edited = await up.ada.type_in_thread(live, "let me think")
    await up.ada.edit(edited, "production")
    await up.ada.post(CHANNEL, "production")
    await up.slack.queue.settle()
    assert (await up.shown(ask)).revision == 1
    assert up.ada.private_notes(CHANNEL) == []
    assert up.bob.private_notes(CHANNEL) == []


async def test_a_file_with_words_counts_and_a_broadcast_too(up: Rig) -> None:
    ask = await up.submit(NOTE, {**NOTE, "id": "more"})
    thread = up.live(ask).ts
    for extra in ({"files": [{"id": "F1"}]}, {"broadcast": True}):
        said = await up.ada.post(CHANNEL, "see the file", thread=thread, **extra)
        await up.slack.until(lambda s=said: s.reactions)  # type: ignore[misc]
    assert (await up.shown(ask)).status is Status.ANSWERED


async def test_in_a_direct_message_any_message_counts_while_one_question_is_open(up: Rig) -> None:
    to = {"to": f"slack:@{up.ada.id}", "responders": None}
    ask = await up.submit(NOTE, **to)
    said = await up.ada.type_dm("yes")
    await up.slack.until(lambda: said.reactions)
    assert (await up.shown(ask)).status is Status.ANSWERED
    first, second = await up.submit(NOTE, **to), await up.submit(NOTE, **to)
    await up.ada.type_dm("which is it for?")
    assert await up.told(up.ada, channel="D0ADA") == [LABELS.which_one]
    said = await up.ada.type_in_thread(up.live(second), "this one")
    await up.slack.until(lambda: said.reactions)
    assert (await up.shown(second)).status is Status.ANSWERED
    assert (await up.shown(first)).open


@pytest.mark.parametrize("status", [429, 500])
async def test_an_answer_that_was_taken_is_marked_also_when_slack_fails_once(
    up: Rig, status: int
) -> None:
    ask = await up.submit(NOTE)
    up.slack.faults.add("reactions.add", status=status)
    said = await up.ada.type_in_thread(up.live(ask), "taken")
    await up.slack.until(lambda: said.reactions)
    assert up.slack.count("reactions.add") == 2
    assert (await up.shown(ask)).status is Status.ANSWERED


async def test_words_of_somebody_who_cannot_be_looked_up_come_again(up: Rig) -> None:
    up.slack.workspace.add_group("S0OPS", up.ada.id)
    up.slack.faults.add(
        "usergroups.users.list", status=503, times=2
    )  # as it is shown, and as she types
    ask = await up.submit(NOTE, responders=["@S0OPS"])
    await up.slack.until(lambda: up.slack.count("usergroups.users.list") == 1)
    said = await up.ada.type_in_thread(up.live(ask), "my words")
    await up.slack.until(lambda: said.reactions)
    assert (await up.shown(ask)).walk.answers[0].value == "my words"
    assert up.ada.private_notes(CHANNEL) == []


async def test_words_that_come_late_answer_no_newer_question(up: Rig) -> None:
    ask = await up.submit(NOTE, {**NOTE, "id": "more"}, responders=[up.ada.id, up.bob.id])
    live = up.live(ask)
    said = await up.bob.type_in_thread(live, "bob's")
    await up.slack.until(lambda: said.reactions)
    event = {"type": "message", "user": up.ada.id, "text": "ada's", "ts": f"{time.time() - 60:.6f}"}
    event |= {"channel": CHANNEL, "channel_type": "channel", "thread_ts": live.ts}
    ack = await up.slack.way.send("events_api", {"type": "event_callback", "event": event})
    assert ack.ok
    ask = await up.shown(ask)
    assert [given.value for given in ask.walk.answers] == ["bob's"]
    [told] = await up.told(up.ada)
    assert "was faster" in told


async def test_an_event_that_cannot_be_saved_comes_again(up: Rig) -> None:
    ask = await up.submit(NOTE)
    await up.app.store.close()
    said = await up.ada.type_in_thread(up.live(ask), "keep me")
    [event] = [e for e in up.slack.queue.events if e.envelope["event"].get("ts") == said.ts]
    await up.slack.until(lambda: event.attempts)
    assert not event.acked
    await up.app.store.open()
    await up.slack.until(lambda: said.reactions)
    assert (await up.shown(ask)).walk.answers[0].value == "keep me"


async def test_words_under_a_message_that_is_not_known_to_be_posted_come_again(up: Rig) -> None:
    up.slack.faults.add("chat.postMessage", drop=True, when="after")
    looking = up.slack.faults.add("conversations.history", times=None, status=503)
    submitting = asyncio.create_task(up.submit(NOTE))
    await up.slack.until(lambda: looking.hits)
    [live] = up.slack.messages(CHANNEL)
    said = await up.ada.type_in_thread(live, "already here")
    [event] = [e for e in up.slack.queue.events if e.envelope["event"].get("ts") == said.ts]
    await up.slack.until(lambda: event.attempts)
    assert not event.acked
    up.slack.faults.clear()
    ask = await submitting
    await up.slack.queue.redeliver(up.slack.way)
    await up.slack.until(lambda: said.reactions)
    assert (await up.shown(ask)).walk.answers[0].value == "already here"


async def test_threads_of_others_are_left_alone_while_a_post_is_not_known(up: Rig) -> None:
    up.slack.faults.add("chat.postMessage", drop=True, when="after")
    looking = up.slack.faults.add("conversations.history", times=None, status=503)
    submitting = asyncio.create_task(up.submit(NOTE))
    await up.slack.until(lambda: looking.hits)
    event = {"type": "message", "user": up.ada.id, "text": "lunch?", "ts": f"{time.time():.6f}"}
    event |= {"channel": CHANNEL, "channel_type": "channel", "thread_ts": "1716400000.000100"}
    ack = await up.slack.way.send("events_api", {"type": "event_callback", "event": event})
    assert ack.ok
    up.slack.faults.clear()
    assert (await submitting).revision == 1


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
        ("<https://example.com/x?a=1&amp;b=2>", "https://example.com/x?a=1&b=2"),
        ("see <http://example.com|example.com>!", "see example.com!"),
        ("<mailto:a@b.example|a@b.example>", "a@b.example"),
        ("<mailto:a@b.example|Ada>", "Ada (a@b.example)"),
        ("<tel:+4930123|+4930123>", "+4930123"),
        ("<http://example.com/|example.com>", "example.com"),
        ("<https://x.example/?a&amp;b|https://x.example/?a&amp;b>", "https://x.example/?a&b"),
        (
            "<https://ci.example/run/7|the failing run>",
            "the failing run (https://ci.example/run/7)",
        ),
        ("<@U012|bob> and <@U013>", "@bob and @U013"),
        ("<#C012|general>", "#general"),
        ("<!here> <!subteam^S1|@ops>", "@here @ops"),
        ("<!date^1700000000^{date}|Tuesday>", "Tuesday"),
        (":tada: plain", ":tada: plain"),
    ],
)
def test_what_slack_adds_to_a_message_is_undone(sent: str, meant: str) -> None:
    assert typed.decoded(sent) == meant


def test_only_the_mention_that_addresses_us_is_taken_out() -> None:
    assert typed.without_mention("<@U0BOT>, use staging", "U0BOT") == "use staging"
    assert typed.without_mention("use staging\n<@U0BOT|answerback>", "U0BOT") == "use staging"
    assert typed.without_mention("<@U0BOT>: a\n\n  b\n", "U0BOT") == "a\n\n  b\n"
    assert typed.without_mention("<@U0BOT>\n  a\n", "U0BOT") == "  a\n"
    assert typed.without_mention("  two  blanks ", "U0BOT") == "  two  blanks "
    inside = "Tell <@U0BOT> to stop.\n<@U0BOT> may go on"
    assert typed.without_mention(inside, "U0BOT") == inside
    assert typed.without_mention(f"<@U0BOT> {inside}", "U0BOT") == inside
    assert typed.mentions("hey <@U0BOT|answerback>", "U0BOT")
    assert not typed.mentions("hey <@U0BOTTLE>", "U0BOT")
