"""Messages typed while no events arrived are read after a restart or a lost connection, once, and only where needed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from answerback.core.ask import Ask, Status
from answerback.core.errors import StoreError
from answerback_chat import catch_up
from answerback_chat.delays import Delays
from answerback_slack import catch_up as on_slack
from answerback_slack import channel_history
from answerback_slack.api_client import SlackApi
from answerback_storage.sql_store import SqlDrafts
from tests.fakes.long_timeouts import PATIENT
from tests.fakes.slack.person import Person
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.workspace import Message
from tests.unit.adapters.slack.rig import (
    CHANNEL,
    LABELS,
    MODES,
    Mode,
    Rig,
    run_app,
    workspace,
)

NOTE = {"id": "note", "text": "A note?", "answer_type": "text"}
COLOUR = {"id": "c", "text": "Which?", "answer_type": "select", "options": ["red", "green"]}
READS = ("conversations.replies", "conversations.history")


class Town:
    """A Slack that outlives the service, and sends it no events."""

    def __init__(
        self,
        slack: FakeSlack,
        ada: Person,
        bob: Person,
        folder: Path,
        mode: Mode,
        delays: Delays = PATIENT,
    ) -> None:
        self.slack, self.ada, self.bob, self._paces = slack, ada, bob, delays
        self._folder, self._mode = folder, mode

    @asynccontextmanager
    async def up(self) -> AsyncIterator[Rig]:
        """Run the service for the duration of the block."""
        up = run_app(self.slack, self._folder / "a.db", self._mode, delays=self._paces)
        async with up as app:
            yield Rig(self.slack, app, self.ada, self.bob)
        self.slack.clock.advance(2)

    def reads(self) -> list[dict[str, Any]]:
        """The arguments of each call that read messages."""
        return [call.args for call in self.slack.calls if call.method in READS]

    async def taken(self, said: Message) -> None:
        """Wait for the mark."""
        await self.slack.until(lambda: said.reactions)
        assert said.reactions == {"white_check_mark": ["U0BOT"]}


@pytest.fixture(params=MODES)
async def town(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Town]:
    async with workspace() as (slack, ada, bob):
        slack.event_types = set()
        yield Town(slack, ada, bob, tmp_path, request.param)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catch_up, "_LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(catch_up, "_MAX_FAILURES", 2)


async def mention(town: Town, ask: Ask, text: str) -> Message:
    assert ask.placement.thread is not None
    return await town.ada.mention_bot(CHANNEL, text, thread=ask.placement.thread.id)


def values(ask: Ask) -> list[Any]:
    return [given.value for given in ask.walk.answers]


@pytest.mark.rule("TYPED-8")
async def test_messages_typed_while_the_service_is_down_are_handled_at_its_start(
    town: Town,
) -> None:
    async with town.up() as up:
        asks = [await up.submit(NOTE), await up.submit(COLOUR)]
        direct = await up.submit(NOTE, to=f"slack:@{up.ada.id}", responders=None)
    said = [await mention(town, asks[0], "not <lost>"), await mention(town, asks[1], "2")]
    said.append(await town.ada.type_dm("nor this"))
    async with town.up() as up:
        for each in said:
            await town.taken(each)
        found = [values(await up.shown(ask)) for ask in (*asks, direct)]
        assert found == [["not <lost>"], ["green"], ["nor this"]]


async def test_a_mention_in_the_channel_itself_is_found_too(town: Town) -> None:
    async with town.up() as up:
        ask = await up.submit(NOTE)
    said = await town.ada.mention_bot(CHANNEL, "up here")
    async with town.up() as up:
        await town.taken(said)
        assert values(await up.shown(ask)) == ["up here"]


async def test_of_two_messages_only_the_first_counts_because_nobody_saw_the_next_question(
    town: Town,
) -> None:
    async with town.up() as up:
        ask = await up.submit(NOTE, {**NOTE, "id": "more"})
    first, second = await mention(town, ask, "staging"), await mention(town, ask, "hello?")
    held = town.slack.faults.add("chat.update", hang=True)
    async with town.up() as up:
        await town.taken(first)
        note = (await up.wait_for_notes(up.ada))[0]
        assert note.startswith(LABELS.text_before_shown.format(question="A note?"))
        held.release()
        assert (values(await up.shown(ask)), second.reactions) == (["staging"], {})


@pytest.mark.rule("TYPED-9")
@pytest.mark.parametrize("ended", [2, 1, 0])
async def test_text_that_could_have_meant_several_asks_never_answers_the_one_that_is_left(
    town: Town, ended: int
) -> None:
    async with town.up() as up:
        to = f"slack:@{up.ada.id}"
        asks = [await up.submit(NOTE, to=to, responders=None) for _ in range(2)]
    said = await town.ada.type_dm("for one of them")
    town.slack.clock.advance(2)
    held = town.slack.faults.add("conversations.history", hang=True)
    async with town.up() as up:
        await town.slack.until(lambda: held.hits)
        later = await up.submit(NOTE, to=to, responders=None)
        for ask in asks[:ended]:
            await up.app.service.withdraw(ask.id)
            await up.shown(ask)
        held.release()
        direct = town.slack.workspace.direct(town.ada.id).id
        await town.slack.until(lambda: town.ada.private_notes(direct))
        [note] = town.ada.private_notes(direct)
        assert note.startswith(LABELS.which_one_thread)
        assert [values(await up.shown(ask)) for ask in (*asks, later)] == [[]] * 3
    assert said.reactions == {}


@pytest.mark.rule("TYPED-8", "TYPED-9")
async def test_text_for_an_ask_that_ended_since_is_not_taken_for_another(town: Town) -> None:
    async with town.up() as up:
        to = f"slack:@{up.ada.id}"
        ask = await up.submit(NOTE, to=to, responders=None)
    await town.ada.type_dm("for that one")
    town.slack.clock.advance(2)
    held = town.slack.faults.add("conversations.history", hang=True)
    async with town.up() as up:
        await town.slack.until(lambda: held.hits)
        later = await up.submit(NOTE, to=to, responders=None)
        await up.app.service.withdraw(ask.id)
        await up.shown(ask)
        held.release()
        direct = town.slack.workspace.direct(town.ada.id).id
        await town.slack.until(lambda: town.ada.private_notes(direct))
        assert values(await up.shown(later)) == []


@pytest.mark.rule("TYPED-8")
async def test_a_handled_message_is_not_handled_again(town: Town) -> None:
    async with town.up() as up:
        other = await up.submit(COLOUR)
        ask = await up.submit(NOTE)
    unclear, said = await mention(town, other, "blue"), await mention(town, ask, "once")
    async with town.up() as up:
        await town.taken(said)
        assert len(await up.wait_for_notes(up.ada)) == 1
    for _ in range(2):
        before = len(town.reads())
        async with town.up() as up:
            await town.slack.until(lambda seen=before: len(town.reads()) >= seen + 2)  # type: ignore[misc]
            await up.app.surface.stop()
            assert len(town.ada.private_notes(CHANNEL)) == 1
    assert unclear.reactions == {}


async def test_a_message_that_also_arrives_as_an_event_counts_once(town: Town) -> None:
    async with town.up() as up:
        ask = await up.submit(NOTE, {**NOTE, "id": "more"})
    town.slack.event_types = {"message"}
    town.slack.deliver_to("")
    said = await mention(town, ask, "once")
    async with town.up() as up:
        await town.slack.queue.redeliver(town.slack.way)
        await town.taken(said)
        await town.slack.queue.settle()
        await up.app.surface.stop()
        assert values(await up.shown(ask)) == ["once"]
        assert town.ada.private_notes(CHANNEL) == []


async def test_nothing_is_read_where_no_message_could_count(town: Town) -> None:
    schema = {"id": "s", "text": "?", "answer_type": "schema", "schema": {"type": "integer"}}
    async with town.up() as up:
        await up.submit(schema)
        ended = await up.submit(NOTE)
        await up.type_answer(ended, "by event")
        await up.app.service.withdraw(ended.id)
        await up.shown(ended)
    async with town.up() as up:
        ask = await up.submit(NOTE)
    said = await mention(town, ask, "here")
    async with town.up() as up:
        await town.taken(said)
        assert ask.placement.thread is not None
        threads = {read.get("ts") for read in town.reads() if "ts" in read}
        assert threads == {ask.placement.thread.id}


async def test_messages_received_long_ago_are_not_read_again(town: Town) -> None:
    async with town.up() as up:
        ask = await up.submit(NOTE)
        await town.bob.post(CHANNEL, "good morning")
    for _ in range(2):  # the first start records the time of the last received message
        town.slack.clock.advance(7_200)
        await town.bob.post(CHANNEL, "good evening")
        before = len(town.reads())
        async with town.up() as up:
            await town.slack.until(lambda seen=before: len(town.reads()) >= seen + 2)  # type: ignore[misc]
            await up.shown(ask)
            await until_saved(up)
    first, last = town.reads()[0], town.reads()[-1]
    assert float(last["oldest"]) > float(first["oldest"]) + 6_000


async def until_saved(up: Rig) -> None:
    """Wait until the time of the last received message is stored."""
    task = up.app.surface._missed
    assert task is not None
    assert task._task is not None
    await task._task


async def test_rate_limits_are_respected_and_the_newest_question_comes_first(town: Town) -> None:
    async with town.up() as up:
        asks = [await up.submit(NOTE) for _ in range(3)]
    said = [await mention(town, ask, "late") for ask in asks]
    town.slack.faults.add("conversations.replies", status=429, retry_after=1, times=2)
    async with town.up():
        for each in said:
            await town.taken(each)
    threads = [read["ts"] for read in town.reads() if "ts" in read]
    assert list(dict.fromkeys(threads)) == [
        a.placement.thread.id for a in reversed(asks) if a.placement.thread
    ]


@pytest.mark.usefixtures("impatient")
async def test_a_conversation_that_cannot_be_read_holds_up_no_other(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    async with town.up() as up:
        older, newer = await up.submit(NOTE), await up.submit(NOTE)
    said = await mention(town, older, "found")
    town.slack.faults.add("conversations.replies", status=503, times=3)
    town.slack.faults.add("conversations.history", error="missing_scope")
    async with town.up() as up:
        await town.taken(said)
        assert (await up.shown(older)).status is Status.ANSWERED
        assert (await up.shown(newer)).open
        assert caplog.text.count("cannot be read: ") == 2


@pytest.mark.usefixtures("impatient")
async def test_a_temporary_database_failure_and_a_bug_lose_no_answer(
    town: Town, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with town.up() as up:
        older, newer = await up.submit(NOTE), await up.submit(NOTE)
    said = await mention(town, older, "found")
    assert newer.placement.thread is not None
    reading, drafts, failures = channel_history.read_page, SqlDrafts.get, ["locked"]

    async def odd(calls: SlackApi, place: channel_history.Conversation, **span: Any) -> Any:
        if newer.placement.thread and place.thread == newer.placement.thread.id:
            raise KeyError("odd")
        return await reading(calls, place, **span)

    async def locked(store: SqlDrafts, key: str) -> JsonValue:
        if failures and key.startswith("heard:"):
            raise StoreError(failures.pop())
        return await drafts(store, key)

    monkeypatch.setattr(on_slack, "read_page", odd)
    monkeypatch.setattr(SqlDrafts, "get", locked)
    async with town.up():
        await town.taken(said)
    assert "Handling missed messages failed" in caplog.text
    assert "will be read later: locked" in caplog.text


@pytest.mark.rule("TYPED-8")
@pytest.mark.parametrize("in_thread", [True, False])
async def test_all_missed_messages_are_read_however_many_they_are(
    town: Town, monkeypatch: pytest.MonkeyPatch, in_thread: bool
) -> None:
    monkeypatch.setattr(channel_history, "PAGE_SIZE", 3)
    async with town.up() as up:
        ask = await up.submit(NOTE)
    assert ask.placement.thread is not None
    thread = ask.placement.thread.id if in_thread else None
    chatter = [(town.bob, f"chatter {n}") for n in range(40)]
    if in_thread:  # read oldest first
        for who, text in chatter:
            await who.post(CHANNEL, text, thread=thread)
    said = await town.ada.mention_bot(CHANNEL, "at last", thread=thread)
    if not in_thread:  # read newest first
        for who, text in chatter:
            await who.post(CHANNEL, text)
    method = "conversations.replies" if in_thread else "conversations.history"
    town.slack.faults.add(method, status=429, retry_after=0, times=2)
    async with town.up():
        await town.taken(said)
    assert sum(each.method == method for each in town.slack.calls) < 20  # each page once


@pytest.mark.rule("TYPED-8")
async def test_the_places_of_all_questions_are_read_however_many_they_are(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "_PLACES_AT_ONCE", 3)
    async with town.up() as up:
        asks = [await up.submit(NOTE) for _ in range(7)]
    said = [await mention(town, ask, "late") for ask in asks]
    async with town.up():
        for each in said:
            await town.taken(each)


@pytest.mark.rule("TYPED-8")
async def test_messages_typed_while_disconnected_are_handled_after_reconnecting(
    tmp_path: Path,
) -> None:
    async with workspace() as (slack, ada, bob):
        town = Town(slack, ada, bob, tmp_path, "socket")
        async with town.up() as up:
            ask = await up.submit(NOTE)
            await slack.socket.connected(2)
            await until_saved(up)
            opened = slack.socket.opened
            slack.event_types = set()
            slack.socket.abort()
            said = await mention(town, ask, "into the gap")
            await slack.socket.reconnected(opened)
            await town.taken(said)
            assert values(await up.shown(ask)) == ["into the gap"]


async def test_renewing_a_connection_in_time_leaves_no_gap(tmp_path: Path) -> None:
    async with workspace() as (slack, ada, bob):
        town = Town(slack, ada, bob, tmp_path, "socket")
        async with town.up() as up:
            await up.submit(NOTE)
            await slack.socket.connected(2)
            await until_saved(up)
            before, opened = len(town.reads()), slack.socket.opened
            await slack.socket.connections[0].socket.close()
            await slack.socket.reconnected(opened)
            await slack.socket.connected(2)
        assert len(town.reads()) == before
