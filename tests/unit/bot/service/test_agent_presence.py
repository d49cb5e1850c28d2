"""Agent presence: people are notified once nobody has come back for a while, and not before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from answerback.core.actions import Reply
from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.surface import Acted
from answerback.presentation import wording
from answerback.service.agent_presence import (
    AGENT,
    CUT_OFF_GRACE,
    GRACE,
    AgentPresence,
    LeasePolicy,
)
from answerback.service.ask_wire import ask_json
from answerback.service.service import Service
from answerback.workers.message_sync import MessageSync
from answerback.workers.scheduler import Scheduler
from tests.service_support import WAIT, actor
from tests.unit.bot.background_support import reopen_store, running, submit
from tests.unit.bot.conftest import Parts


async def now(service: Service, ask: Ask) -> Ask:
    """The stored ask."""
    found = await service.get(ask.id)
    assert found is not None
    return found


@asynccontextmanager
async def waiting(service: Service, ask: Ask) -> AsyncIterator[None]:
    """A call that waits; it ends with the context."""
    async with service.presence.track_wait(await now(service, ask)):
        yield


@asynccontextmanager
async def cut_off(service: Service, ask: Ask) -> AsyncIterator[None]:
    """A call that waits; leaving the context hangs up."""
    call = asyncio.create_task(service.wait(ask.id, 3_600))
    async with asyncio.timeout(WAIT):
        while not service.presence.is_waiting(ask.id):  # noqa: ASYNC110 nothing signals this
            await asyncio.sleep(0)
    try:
        yield
    finally:
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call


class StoredPresence:
    """Records each time that presence is stored."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, service: Service) -> None:
        self.made: list[bool | None] = []
        attend = service.set_attended

        async def counted(ask_id: str, *, attended: bool | None) -> object:
            self.made.append(attended)
            return await attend(ask_id, attended=attended)

        monkeypatch.setattr(service.presence, "_store_presence", counted)


@pytest.mark.rule("WAITING-1")
async def test_an_agent_that_comes_back_at_the_moment_at_which_it_counts_as_gone_counts_as_waiting(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    ask = await submit(service)
    await service.set_attended(ask.id, attended=True)
    read = service.store.asks.get

    async def read_late(ask_id: str) -> Ask | None:
        """Read the ask as it is just before it is stored that nobody waits."""
        found = await read(ask_id)
        await service.set_attended(ask_id, attended=False)
        return found

    monkeypatch.setattr(service.store.asks, "get", read_late)
    with service.follow(ask.id) as follower:
        call = asyncio.create_task(service.wait(ask.id, WAIT))
        shown = await follower.wait_until(lambda latest: not latest.attendance.agent_left, WAIT / 2)
        assert shown is not None
        monkeypatch.undo()
        service.stop_waiting()
        await call


@pytest.mark.rule("WAITING-2")
async def test_a_call_that_is_cut_off_before_it_waits_counts_as_left_soon(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    ask = await submit(service)
    async with waiting(service, ask):
        pass
    reading = asyncio.Event()

    async def read_never(_: str) -> Ask | None:
        reading.set()
        await asyncio.Event().wait()
        raise AssertionError("it is cancelled")

    with monkeypatch.context() as patch:
        patch.setattr(service.store.asks, "get", read_never)
        call = asyncio.create_task(service.wait(ask.id, WAIT))
        await reading.wait()
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call
    await parts.clock.advance(CUT_OFF_GRACE - 0.5)
    await service.presence.run_once()
    assert not (await now(service, ask)).attendance.agent_left
    await parts.clock.advance(0.5)
    await service.presence.run_once()
    assert (await now(service, ask)).attendance.agent_left


@pytest.mark.rule("WAITING-1")
async def test_people_see_when_nobody_waits_any_more_and_when_somebody_does_again(
    parts: Parts,
) -> None:
    service = parts.service()
    ask = await submit(service)
    async with waiting(service, ask):
        await parts.clock.advance(GRACE + 1)
        await service.presence.run_once()
        assert not (await now(service, ask)).attendance.agent_left
    await parts.clock.advance(GRACE - 1)
    await service.presence.run_once()
    assert not (await now(service, ask)).attendance.agent_left
    await parts.clock.advance(1)
    await service.presence.run_once()
    result = await now(service, ask)
    assert (result.attendance.agent_left, result.revision, result.presence_lapses_at) == (
        True,
        ask.revision,
        None,
    )
    assert result.placement.shown_revision < result.revision, "its message is to be shown again"
    line = wording.asks_line(view_of(result), Labels())
    assert line == (
        "The assistant asked this and has gone on without an answer. It will still get yours"
    )
    async with waiting(service, ask), asyncio.timeout(WAIT):
        while (await now(service, ask)).attendance.agent_left:  # noqa: ASYNC110 the wait makes it so
            await asyncio.sleep(0)


@pytest.mark.rule("WAITING-2")
async def test_a_call_that_is_cut_off_counts_as_left_soon_unless_the_agent_waits_again(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    ask = await submit(service)
    changes = StoredPresence(monkeypatch, service)
    for _ in range(2):
        async with cut_off(service, ask):
            pass
        await parts.clock.advance(CUT_OFF_GRACE - 0.5)
        await service.presence.run_once()
    assert changes.made == []
    await service.presence.record_poll(await now(service, ask))
    await parts.clock.advance(0.5)
    await service.presence.run_once()
    assert changes.made == [False], "a poll does not prove that a call waits"
    async with waiting(service, ask):
        assert not (await now(service, ask)).attendance.agent_left


@pytest.mark.rule("WAITING-2")
async def test_two_seconds_after_its_call_was_cancelled_an_agent_is_not_said_to_wait(
    parts: Parts,
) -> None:
    service = parts.service()
    ask = await submit(service)
    async with cut_off(service, ask):
        assert ask_json(await now(service, ask))["waiting"] is True
    await parts.clock.advance(2)
    await service.presence.run_once()
    assert ask_json(await now(service, ask))["waiting"] is False


@pytest.mark.rule("WAITING-2")
async def test_a_renewed_wait_writes_nothing_and_changes_no_message(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    ask = await submit(service)
    changes = StoredPresence(monkeypatch, service)
    for _ in range(4):
        async with waiting(service, ask), waiting(service, ask):
            await parts.clock.advance(GRACE - 5)
        await parts.clock.advance(5)
        await service.presence.run_once()
    assert changes.made == []
    assert (await now(service, ask)).placement.shown_revision == ask.placement.shown_revision


@pytest.mark.rule("WAITING-2")
async def test_an_agent_that_polls_often_counts_as_waiting_and_one_that_polls_rarely_does_not(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    ask = await submit(service)
    changes = StoredPresence(monkeypatch, service)
    for _ in range(3):
        await parts.clock.advance(GRACE - 1)
        await service.presence.run_once()
        await service.presence.record_poll(await now(service, ask))
    assert changes.made == []
    for _ in range(3):
        await parts.clock.advance(GRACE)
        await service.presence.run_once()
        await service.presence.record_poll(await now(service, ask))
    assert changes.made == [False], "the message does not change back and forth"


@pytest.mark.rule("WAITING-3")
async def test_a_stored_presence_is_renewed_in_time(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    upkeep = Scheduler(service, MessageSync(service))
    ask = await submit(service)
    changes = StoredPresence(monkeypatch, service)
    async with waiting(service, ask):
        for _ in range(4):
            await parts.clock.advance(AGENT.seconds / 2)
            await service.presence.run_once()
            assert not await upkeep.run_once()
        assert changes.made == [True] * 4
        lapses = (await now(service, ask)).presence_lapses_at
        assert lapses == parts.clock.now() + AGENT.seconds


@pytest.mark.rule("WAITING-3", "DATA-2")
async def test_after_a_crash_an_agent_that_does_not_come_back_has_moved_on(
    parts: Parts, tmp_path: Any
) -> None:
    service = parts.service()
    gone, back = await submit(service), await submit(service)
    await reopen_store(parts, tmp_path)
    again = parts.service()
    upkeep = Scheduler(again, MessageSync(again))
    await parts.clock.advance(AGENT.seconds - 1)
    assert not await upkeep.run_once()
    async with waiting(again, back):
        await parts.clock.advance(2)
        while await upkeep.run_once():
            pass
        assert (await now(again, gone)).attendance.agent_left
        assert not (await now(again, back)).attendance.agent_left


@pytest.mark.rule("WAITING-3")
async def test_after_a_suspend_those_who_still_wait_are_kept(parts: Parts) -> None:
    service = parts.service()
    upkeep = Scheduler(service, MessageSync(service))
    ask = await submit(service)
    async with waiting(service, ask):
        await parts.clock.advance(10 * AGENT.seconds)
        assert await upkeep.run_once()
        assert not (await now(service, ask)).attendance.agent_left


@pytest.mark.rule("WAITING-1")
async def test_an_agent_with_a_webhook_never_counts_as_gone(parts: Parts) -> None:
    service = parts.service()
    ask = await submit(service, callback={"url": "https://agent.example/hooks"})
    await service.wait(ask.id, 0)
    await parts.clock.advance(10 * AGENT.seconds)
    assert await service.presence.run_once() is None
    assert not await Scheduler(service, MessageSync(service)).run_once()
    assert not (await now(service, ask)).attendance.agent_left


async def test_presence_ignores_an_ask_that_has_ended(parts: Parts) -> None:
    service = parts.service()
    ask = await submit(service)
    await service.withdraw(ask.id)
    ended = await now(service, ask)
    async with service.presence.track_wait(ended):
        assert not service.presence._waiting
    await parts.clock.advance(GRACE)
    assert await service.presence.run_once() is None
    assert not (await now(service, ask)).attendance.agent_left


async def test_a_caller_that_hangs_up_while_its_presence_is_stored_waits_no_more(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    storing = asyncio.Event()

    async def hangs(_presence: AgentPresence, _ask_id: str, _policy: LeasePolicy) -> None:
        storing.set()
        await asyncio.Event().wait()

    service = parts.service()
    ask = await submit(service)
    await parts.clock.advance(AGENT.seconds)
    monkeypatch.setattr(AgentPresence, "renew", hangs)
    call = asyncio.create_task(service.wait(ask.id, 3_600))
    async with asyncio.timeout(WAIT):
        await storing.wait()
    assert service.presence._waiting[ask.id] == 1
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call
    assert ask.id not in service.presence._waiting


async def test_a_caller_that_returns_while_its_absence_is_stored_waits(parts: Parts) -> None:
    stored: list[bool | None] = []

    async def attend(ask_id: str, *, attended: bool | None) -> None:
        assert ask_id == ask.id
        stored.append(attended)
        if not attended:
            await stack.__aenter__()

    service = parts.service()
    ask = await submit(service)
    listeners = AgentPresence(parts.clock, attend)
    stack = listeners.track_wait(await now(service, ask))
    await listeners.record_poll(ask)
    await parts.clock.advance(GRACE)
    await listeners.run_once()
    assert stored == [False, True]
    await stack.__aexit__(None, None, None)


async def test_several_departures_are_stored_but_not_one_that_is_forgotten_meanwhile(
    parts: Parts,
) -> None:
    stored: list[str] = []

    async def attend(ask_id: str, *, attended: bool | None) -> None:
        stored.append(ask_id)
        listeners.forget(asks[1].id)
        assert not attended

    service = parts.service()
    asks = [await submit(service) for _ in range(3)]
    listeners = AgentPresence(parts.clock, attend)
    for ask in asks:
        await listeners.record_poll(ask)
    await parts.clock.advance(GRACE - 1)
    later = await submit(service)
    await listeners.record_poll(later)
    await parts.clock.advance(1)
    assert await listeners.run_once() == parts.clock.monotonic() + GRACE - 1
    assert stored == [asks[0].id, asks[2].id]


async def test_a_store_failure_is_logged_and_the_loop_continues(
    parts: Parts, caplog: pytest.LogCaptureFixture
) -> None:
    tried = asyncio.Event()

    async def attend(ask_id: str, *, attended: bool | None) -> None:
        assert (ask_id, attended) == (ask.id, False)
        tried.set()
        raise StoreError("The disk is full.")

    service = parts.service()
    ask = await submit(service)
    listeners = AgentPresence(parts.clock, attend)
    loop = asyncio.create_task(listeners.run())
    await asyncio.sleep(0)
    await listeners.record_poll(ask)
    async with asyncio.timeout(WAIT):
        while not tried.is_set():
            await parts.clock.advance(GRACE)
            await asyncio.sleep(0)
    assert "Could not store whether the agent is waiting: The disk is full." in caplog.text
    assert not loop.done()
    loop.cancel()


@pytest.mark.rule("WAITING-1")
async def test_the_live_message_is_shown_again_without_a_new_revision(parts: Parts) -> None:
    async with running(parts) as (service, shower):
        ask = await submit(service)
        await shower.wait_until_idle()
        service.presence.forget(ask.id)
        await service.set_attended(ask.id, attended=False)
        await shower.wait_until_idle()
        assert parts.chat.messages[ask.id].attendance.agent_left
        acted = await service.act(ask.id, Reply(), actor(), revision=ask.revision)
        assert isinstance(acted, Acted), "the click on the message as it was counts"
