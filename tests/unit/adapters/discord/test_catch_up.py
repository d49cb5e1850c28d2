"""Text typed while no events arrived is read after a restart or a lost session, once, and only if needed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.ports.store import Decision, Write
from answerback.workers.message_sync import MessageSync
from answerback_chat import catch_up
from answerback_chat.delays import Delays
from answerback_discord import limits
from tests.fakes.discord.person import Person
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.world import Channel, Message
from tests.fakes.long_timeouts import HASTY, PATIENT
from tests.unit.adapters.discord.rig import MODES, Mode, Rig, run_surface
from tests.unit.adapters.discord.test_typed_messages import forget_message_id

LABELS = Labels()
TEXT: list[dict[str, Any]] = [{"id": "why", "text": "Why so?", "answer_type": "text"}]
MORE = [*TEXT, {**TEXT[0], "id": "more"}]
COLOURS = [{"id": "c", "text": "Which?", "answer_type": "select", "options": ["red", "green"]}]


class Town:
    """A fake Discord that outlives the service."""

    def __init__(self, discord: FakeDiscord, folder: Path, mode: Mode) -> None:
        self.discord, self._folder, self._mode = discord, folder, mode
        self.guild = discord.add_guild()
        self.channel = discord.add_channel(self.guild)
        self.ann = discord.person("ann", self.guild)

    @asynccontextmanager
    async def up(self, delays: Delays = PATIENT) -> AsyncIterator[Rig]:
        """Run the service for a while; events after that reach no session."""
        parts = run_surface(self.discord, self._folder / "a.db", self._mode, delays=delays)
        async with parts as (surface, service, store, message_sync):
            yield Rig(
                self.discord,
                surface,
                service,
                store,
                message_sync,
                self.guild,
                self.channel,
                self.ann,
            )
        self.discord.gateway.forget_sessions()

    def thread(self, ask: Ask) -> Channel:
        """The thread of an ask."""
        assert ask.placement.thread is not None
        return self.discord.world.channel(int(ask.placement.thread.id or 0))

    def prompt(self, ask: Ask) -> Message:
        """The live message of an ask."""
        message = ask.placement.message or {}
        channel = self.discord.world.channel(int(str(message["channel"])))
        return channel.messages[int(str(message["id"]))]


@pytest.fixture(params=MODES)
async def town(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Town]:
    async with FakeDiscord() as discord:
        yield Town(discord, tmp_path, request.param)


async def submit_ask(up: Rig, questions: list[dict[str, Any]], **fields: Any) -> Ask:
    return await up.shown(await up.submit(questions, **fields))


async def wait_for_mark(ann: Person, message: Message, emoji: str = "✅") -> None:
    await ann.until(lambda: emoji in message.reactions)


async def wait_until_caught_up(up: Rig) -> None:
    """Wait until all missed messages have been read."""
    reading = up.surface._missed
    assert reading is not None
    assert reading._task is not None
    await reading._task


def values(ask: Ask) -> list[Any]:
    return [given.value for given in ask.walk.answers]


@pytest.mark.rule("TYPED-8")
async def test_text_typed_while_the_service_is_down_is_handled_when_it_starts(town: Town) -> None:
    async with town.up() as up:
        by_reply, by_mention = await submit_ask(up, TEXT), await submit_ask(up, COLOURS)
        direct = await submit_ask(up, TEXT, to=f"discord:@{town.ann.id}", responders=None)
        role = town.discord.add_role(town.guild, "ops")
        town.guild.members[town.ann.id].add(role.id)
        of_role = await submit_ask(up, TEXT, responders=[f"@{role.id}"])
    said = [
        town.ann.replies(town.prompt(by_reply), "not lost"),
        town.ann.mention_bot(town.thread(by_mention), "2"),
        town.ann.dm("nor this"),
        town.ann.mention_bot(town.thread(of_role), "of ops"),
    ]
    async with town.up() as up:
        for each in said:
            await wait_for_mark(town.ann, each)
        found = [values(await up.shown(a)) for a in (by_reply, by_mention, direct, of_role)]
        assert found == [["not lost"], ["green"], ["nor this"], ["of ops"]]


@pytest.mark.rule("TYPED-9")
@pytest.mark.parametrize("ended", [2, 1, 0])
async def test_text_that_could_have_meant_several_asks_never_answers_the_one_that_is_left(
    town: Town, ended: int
) -> None:
    direct = {"to": f"discord:@{town.ann.id}", "responders": None}
    async with town.up() as up:
        asks = [await submit_ask(up, TEXT, **direct) for _ in range(2)]
    said = town.ann.dm("for one of them")
    held = town.discord.faults.hang("GET /channels/*/messages")
    async with town.up() as up:
        await town.ann.until(lambda: held.hits)
        later = await submit_ask(up, TEXT, **direct)
        for ask in asks[:ended]:
            await up.service.withdraw(ask.id)
            await up.shown(ask)
        held.release()
        await wait_for_mark(town.ann, said, "❌")
        assert [values(await up.shown(ask)) for ask in (*asks, later)] == [[]] * 3
        note = (await town.ann.finds(LABELS.which_one_quote)).message
        assert note.reply_to == said.id


@pytest.mark.rule("TYPED-6", "TYPED-7")
async def test_text_that_a_person_types_before_their_click_shows_the_next_question_never_answers_it(
    tmp_path: Path,
) -> None:
    async with FakeDiscord() as discord:
        town = Town(discord, tmp_path, "gateway")
        async with town.up() as up:
            ask = await submit_ask(up, [*COLOURS, *TEXT])
            discord.faults.server_error("POST /interactions/*/*/callback", times=9)
            held = discord.faults.hang("PATCH /channels/*/messages/*")
            await town.ann.click("red", wait=False)
            await town.ann.until(lambda: held.hits)
            early = town.ann.replies(town.prompt(ask), "meant for the first")
            await wait_for_mark(town.ann, early, "❌")
            held.release()
            assert values(await up.shown(ask)) == ["red"]
            await wait_for_mark(town.ann, town.ann.replies(town.prompt(ask), "for the second"))
            assert values(await up.shown(ask)) == ["red", "for the second"]


@pytest.mark.rule("TYPED-8")
async def test_chatter_is_ignored_and_nothing_is_handled_twice(town: Town) -> None:
    async with town.up() as up:
        ask, other = await submit_ask(up, MORE), await submit_ask(up, COLOURS)
    chatter = town.ann.types(town.thread(ask), "lunch, anybody?")
    said = town.ann.mention_bot(town.thread(ask), "once")
    second = town.ann.mention_bot(town.thread(ask), "hello?")
    unclear = town.ann.mention_bot(town.thread(other), "blue")
    async with town.up() as up:
        await wait_for_mark(town.ann, said)
        await wait_for_mark(town.ann, second, "❌")
        await wait_for_mark(town.ann, unclear, "❌")
        await wait_until_caught_up(up)
    notes = len(town.discord.direct(town.ann.user).messages)
    for _ in range(2):
        async with town.up() as up:
            await wait_until_caught_up(up)
            assert values(await up.shown(ask)) == ["once"]
    assert len(town.discord.direct(town.ann.user).messages) == notes == 2
    assert chatter.reactions == {}


@pytest.mark.rule("DISCORD-10", "TYPED-8")
async def test_no_text_is_missed_when_a_session_cannot_be_resumed(town: Town) -> None:
    async with town.up() as up:
        ask = await submit_ask(up, TEXT)
        await wait_until_caught_up(up)
        gateway = town.discord.gateway
        gateway.forget_sessions()
        said = town.ann.mention_bot(town.thread(ask), "into the gap")
        await gateway.disconnect(4000)
        await wait_for_mark(town.ann, said)
        assert values(await up.shown(ask)) == ["into the gap"]


async def test_nothing_is_read_after_a_resumed_session(town: Town) -> None:
    async with town.up() as up:
        await wait_until_caught_up(up)  # otherwise the start may read the thread of the ask
        ask = await submit_ask(up, TEXT)
        await town.discord.gateway.disconnect(4000)
        await wait_for_mark(town.ann, town.ann.mention_bot(town.thread(ask), "replayed"))
        assert town.discord.gateway.resumes == 1
        assert town.discord.faults.count("GET /channels/*/messages") == 0


async def test_a_session_resumed_while_missed_messages_are_read_misses_none(town: Town) -> None:
    async with town.up() as up:
        ask, other = await submit_ask(up, TEXT), await submit_ask(up, TEXT)
    said = town.ann.mention_bot(town.thread(ask), "not lost")
    held = town.discord.faults.hang("GET /channels/*/messages")
    async with town.up() as up:
        await town.ann.until(lambda: held.hits)
        await town.discord.gateway.disconnect(4000)
        await town.ann.until(lambda: town.discord.gateway.resumes)
        await wait_for_mark(town.ann, town.ann.replies(town.prompt(other), "live"))
        held.release()
        await wait_for_mark(town.ann, said)
        assert values(await up.shown(ask)) == ["not lost"]


async def test_a_place_that_is_limited_again_and_again_is_read_after_the_next_start(
    town: Town, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with town.up() as up:
        ask = await submit_ask(up, TEXT)
    said = town.ann.replies(town.prompt(ask), "not lost")
    with monkeypatch.context() as patch:
        patch.setattr(catch_up, "MAX_RATE_LIMITS", 1)
        town.discord.faults.rate_limit("GET /channels/*/messages", retry_after=0.02, times=1_000)
        async with town.up() as up:
            await wait_until_caught_up(up)
    town.discord.faults.clear()
    assert "cannot be read" in caplog.text
    assert said.reactions == {}
    async with town.up():
        await wait_for_mark(town.ann, said)


async def test_a_message_that_is_not_posted_yet_is_not_taken_for_deleted(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    post = "POST /channels/*/messages"
    town.discord.faults.server_error(post, times=1_000)
    async with town.up() as up:
        ask = await up.submit(TEXT)
        await town.discord.faults.called(post)
    async with town.up(HASTY) as up:
        looking = up.surface._changes._task
        assert looking is not None
        await looking
        town.discord.faults.clear()
        up.message_sync.request_sync(ask)
        await town.ann.finds("Why so?", town.channel)
    assert len(town.channel.messages) == 1
    assert "Looking failed" not in caplog.text


async def test_reading_missed_messages_waits_for_rate_limits(town: Town) -> None:
    async with town.up() as up:
        ask = await submit_ask(up, TEXT)
    said = town.ann.mention_bot(town.thread(ask), "late")
    town.discord.faults.rate_limit("GET /channels/*/messages", retry_after=0.2, times=3)
    async with town.up():
        await wait_for_mark(town.ann, said)


@pytest.mark.rule("TYPED-8")
async def test_all_missed_messages_are_read_however_many_they_are(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MESSAGES_PER_PAGE", 3)
    async with town.up() as up:
        ask = await submit_ask(up, TEXT)
    for n in range(40):
        town.ann.types(town.thread(ask), f"chatter {n}")
    said = town.ann.mention_bot(town.thread(ask), "at last")
    async with town.up():
        await wait_for_mark(town.ann, said)


async def test_replies_to_a_message_whose_post_was_unconfirmed_are_read(town: Town) -> None:
    town.discord.faults.drop("POST /channels/*/messages", after=True)
    town.discord.faults.server_error("GET /channels/*/messages", times=100)
    async with town.up() as up:
        ask = await up.submit(TEXT)
        await town.discord.faults.called("GET /channels/*/messages")
    town.discord.faults.clear()
    [live] = town.channel.messages.values()
    said = town.ann.replies(live, "already")
    async with town.up() as up:
        await wait_until_caught_up(up)
        stored = await up.store.asks.get(ask.id)
        assert stored is not None
        up.message_sync.request_sync(stored)
        await wait_for_mark(town.ann, said)
        assert values(await up.shown(ask)) == ["already"]


@pytest.mark.rule("TYPED-8", "CLAIM-12")
async def test_replies_to_a_message_that_another_process_stores_later_are_read_then(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "_UNCONFIRMED_PAUSE", 0.1)
    async with town.up() as up:
        ask = await submit_ask(up, TEXT)
        message = town.prompt(ask)
        await forget_message_id(up, ask)
    said = town.ann.replies(message, "because")
    # The other process shows the ask, not this one.
    monkeypatch.setattr(MessageSync, "_attempt", AsyncMock(return_value=None))
    async with town.up() as up:
        await wait_until_caught_up(up)
        unread = await up.store.asks.get(ask.id)
        assert unread is not None
        assert values(unread) == []

        def touch(_: Ask | None) -> Decision[None]:
            return Decision(Write(ask), None)

        await up.store.asks.change(ask.id, touch)
        await wait_for_mark(town.ann, said)
        assert values(await up.shown(ask)) == ["because"]


@pytest.mark.rule("TYPED-8")
async def test_a_reply_to_a_person_whose_message_was_deleted_is_left_alone(town: Town) -> None:
    bob = town.discord.person("bob", town.guild)
    async with town.up() as up:
        ask = await submit_ask(up, TEXT)
    question = bob.types(town.channel, "lunch?")
    said = town.ann.replies(question, "sure, at 12")
    town.discord.delete(question)
    async with town.up() as up:
        await wait_until_caught_up(up)
        await wait_for_mark(town.ann, town.ann.replies(town.prompt(ask), "because"))
    assert not said.reactions
    assert not town.discord.direct(town.ann.user).messages
