"""Reports from surfaces about live messages and places: asks are shown again or failed as appropriate."""

from __future__ import annotations

import asyncio

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Status
from answerback.core.errors import (
    PlatformUnavailableError,
    StoreError,
    UnauthorizedError,
    UnreadableRowError,
)
from tests.service_support import actor, boolean
from tests.unit.bot.background_support import (
    escalating_routes,
    running,
    shows,
    submit,
    wait_for_escalation,
)
from tests.unit.bot.conftest import Parts


@pytest.mark.rule("PLACE-1")
async def test_a_deleted_message_is_shown_again_but_a_deleted_record_is_not(parts: Parts) -> None:
    async with running(parts) as (service, sync):
        ask = await submit(service)
        await sync.wait_until_idle()
        await service.show_again(ask.id, deleted=True)
        await sync.wait_until_idle()
        assert parts.chat.shows == 2
        await service.act(ask.id, Answer(value=True), actor())
        await sync.wait_until_idle()
        await service.show_again(ask.id, deleted=True)
        await service.show_again("ask_none", deleted=True)
        await sync.wait_until_idle()
    assert parts.chat.shows == 3
    assert await parts.store.messages.list_outdated(10) == []


async def test_a_deletion_during_a_show_is_not_lost(parts: Parts) -> None:
    async with running(parts) as (service, sync):
        ask = await submit(service, boolean("a"), boolean("b"))
        await sync.wait_until_idle()
        parts.chat.hold = asyncio.Event()
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(lambda: parts.chat.shows == 2)
        await service.show_again(ask.id, deleted=True)
        parts.chat.hold.set()
        await sync.wait_until_idle()
    assert parts.chat.shows == 3


async def test_using_an_older_copy_shows_the_ask_again_unless_the_change_is_recent(
    parts: Parts,
) -> None:
    async with running(parts) as (service, sync):
        ask = await submit(service)
        await sync.wait_until_idle()
        await service.show_again(ask.id)
        await sync.wait_until_idle()
        assert parts.chat.shows == 1
        await parts.clock.advance(6)
        await service.show_again(ask.id)
        await sync.wait_until_idle()
        assert parts.chat.shows == 2


@pytest.mark.parametrize("error", [UnauthorizedError("closed"), PlatformUnavailableError("down")])
async def test_using_an_older_copy_ends_the_backoff(parts: Parts, error: Exception) -> None:
    async with running(parts, first_pause=3_600.0, max_pause=3_600.0) as (service, sync):
        ask = await submit(service, boolean("a"), boolean("b"))
        await sync.wait_until_idle()
        parts.chat.failures.append(error)
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(lambda: not parts.chat.failures)
        assert not shows(parts, ask, 2)()
        await service.show_again(ask.id)
        await parts.chat.until(shows(parts, ask, 2))
        await sync.wait_until_idle()


@pytest.mark.rule("PLACE-7")
async def test_what_could_not_be_shown_in_a_place_is_shown_once_it_is_open_again(
    parts: Parts,
) -> None:
    async with running(parts, first_pause=3_600.0, max_pause=3_600.0) as (service, sync):
        ended, here = [await submit(service, boolean("a"), boolean("b")) for _ in range(2)]
        there = await submit(service, boolean("a"), boolean("b"), to="chat:C9")
        await sync.wait_until_idle()
        await service.withdraw(ended.id)
        await sync.wait_until_idle()
        for ask in (here, there):
            parts.chat.failures.append(UnauthorizedError("removed"))
            await service.act(ask.id, Answer(value=True), actor())
            await sync.wait_until_idle()
        before = parts.chat.shows
        await service.show_reopened("chat", ["C1", "C2"])
        await parts.chat.until(shows(parts, here, 2))
        await sync.wait_until_idle()
        assert parts.chat.shows == before + 2
        assert not shows(parts, there, 2)()


@pytest.mark.rule("PLACE-2")
async def test_a_place_that_is_closed_fails_its_asks_and_no_others(parts: Parts) -> None:
    async with running(parts, routes=escalating_routes("chat:C2")) as (service, sync):
        gone = [await submit(service) for _ in range(3)]
        moved = await submit(service, to=None, responders=None)
        other = await submit(service, to="chat:C9")
        await sync.wait_until_idle()
        found = [ask async for ask in service.each_open("chat", "C1")]
        assert {ask.id for ask in found} == {ask.id for ask in (*gone, moved)}
        await wait_for_escalation(parts, service, moved)
        for ask in found:
            await service.fail_unreachable(ask, "The channel was archived.")
        await sync.wait_until_idle()
        ended = [await service.get(ask.id) for ask in gone]
        still = [await service.get(ask.id) for ask in (moved, other)]
    assert all(ask and ask.status is Status.FAILED for ask in ended)
    assert all(ask and ask.open for ask in still)
    message = (ended[0] and ended[0].outcome and ended[0].outcome.message) or ""
    assert "chat: The channel was archived. Do not retry" in message


async def test_all_open_asks_are_listed_a_page_at_a_time(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("answerback.service.live_messages._PAGE", 2)
    async with running(parts) as (service, sync):
        asks = [await submit(service) for _ in range(5)]
        await submit(service, to="chat:C9")
        await sync.wait_until_idle()
        here = [ask.id async for ask in service.each_open("chat", "C1", "1.1")]
        everywhere = [ask.id async for ask in service.each_open("chat")]
    assert here == [ask.id for ask in reversed(asks)]
    assert (len(everywhere), everywhere[1:]) == (6, here)


async def test_outdated_asks_are_listed_by_surface(parts: Parts) -> None:
    service = parts.service()
    behind = await submit(service)
    await submit(service, to="web")
    assert [ask.id async for ask in service.each_outdated("chat")] == [behind.id]
    async with running(parts) as (service, sync):
        await sync.sweep(10)
        await sync.wait_until_idle()
        assert [ask.id async for ask in service.each_outdated("chat")] == []
        assert await service.find_by_message("chat", "1.1") is None


async def test_missing_or_unreadable_asks_are_skipped(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    odd, gone, fine = [await submit(service) for _ in range(3)]
    get = parts.store.asks.get

    async def read(ask_id: str) -> Ask | None:
        if ask_id == odd.id:
            raise UnreadableRowError("It cannot be read.")
        return None if ask_id == gone.id else await get(ask_id)

    monkeypatch.setattr(parts.store.asks, "get", read)
    assert [ask.id async for ask in service.each_outdated("chat")] == [fine.id]


async def test_an_unreadable_ask_does_not_stop_others_from_being_shown(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service = parts.service()
    odd, gone, fine = [await submit(service) for _ in range(3)]
    get = parts.store.asks.get

    async def unreadable(ask_id: str) -> Ask | None:
        if ask_id == odd.id:
            raise StoreError("It cannot be read.")
        return None if ask_id == gone.id else await get(ask_id)

    monkeypatch.setattr(parts.store.asks, "get", unreadable)
    async with running(parts):
        await parts.chat.until(shows(parts, fine, 1))
    assert "It cannot be read." in caplog.text


async def test_a_limited_number_of_asks_that_need_the_operator_are_suspended(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("answerback.workers.message_sync.MAX_QUEUED", 1)
    async with running(parts) as (service, sync):
        asks = [await submit(service, boolean("a"), boolean("b")) for _ in range(2)]
        await sync.wait_until_idle()
        for ask in asks:
            parts.chat.failures.append(UnauthorizedError("revoked"))
            await service.act(ask.id, Answer(value=True), actor())
            await sync.wait_until_idle()
        await sync.sweep(10)
        await sync.wait_until_idle()
        assert (shows(parts, asks[0], 2)(), shows(parts, asks[1], 2)()) == (True, False)
