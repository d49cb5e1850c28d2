"""Updates are confirmed only when they are done with, by the process that polls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback.core.ask import Status
from answerback.core.errors import StoreError, UnreadableRowError
from answerback.ports.outage_log import Outage
from answerback_telegram import connection
from answerback_telegram.api_client import TelegramApi
from answerback_telegram.connection import UpdatePoller
from tests.fakes.long_timeouts import HASTY
from tests.fakes.telegram.server import FakeTelegram
from tests.service_support import WAIT
from tests.unit.adapters.telegram.rig import rig
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, retry_quickly, send_click

pytestmark = pytest.mark.rule("TELEGRAM-6")


class Handler:
    """Handles updates, or fails as it is told to."""

    def __init__(self) -> None:
        self.failures: list[Exception] = []
        self.seen: list[int] = []
        self.leads = True
        self.called = asyncio.Event()
        self.hold: asyncio.Event | None = None

    async def handle(self, update: Mapping[str, Any]) -> None:
        self.seen.append(update["update_id"])
        self.called.set()
        if self.hold is not None:
            await self.hold.wait()
        if self.failures:
            raise self.failures.pop(0)


@asynccontextmanager
async def polling(
    telegram: FakeTelegram, handler: Handler | None = None, first_pause: float = 0.01
) -> AsyncIterator[tuple[Handler, UpdatePoller]]:
    """Run a poller."""
    async with aiohttp.ClientSession() as http:
        handler = handler or Handler()
        calls = TelegramApi(http, telegram.token, telegram.url)
        outage = Outage(logging.getLogger("test"), "Telegram")
        poller = UpdatePoller(
            calls, handler.handle, outage, lambda: handler.leads, lambda: None, first_pause
        )
        await poller.start()
        try:
            yield handler, poller
        finally:
            await poller.stop()


async def test_what_could_not_be_stored_is_not_confirmed_by_a_stop() -> None:
    handler = Handler()
    handler.failures = [StoreError("the disk is full")]
    async with FakeTelegram() as telegram:
        first, second = [await telegram.send_update({"message": {}}, odd=True) for _ in range(2)]
        async with polling(telegram, handler, first_pause=3_600.0):
            async with asyncio.timeout(WAIT):
                while second not in handler.seen:
                    handler.called.clear()
                    await handler.called.wait()
            for _ in range(20):  # the poller waits before it asks for both again
                await asyncio.sleep(0)
        assert not telegram.is_handled(first)


async def test_what_could_not_be_stored_is_handled_again_before_anything_after_it_is_confirmed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with FakeTelegram() as telegram, polling(telegram) as (handler, _):
        handler.failures = [StoreError("the disk is full")] * 3
        first = await telegram.send_update({"message": {}}, odd=True)
        await telegram.until(lambda: telegram.is_handled(first))
        assert handler.seen == [first] * 4
        handler.failures = [StoreError("the disk is full")]
        both = [await telegram.send_update({"message": {}}, odd=True) for _ in range(2)]
        await telegram.until(lambda: telegram.is_handled(both[1]))
        assert sorted(handler.seen[4:]) in (
            [both[0], both[0], both[1]],
            [both[0], both[1], both[1]],
        )


async def test_updates_are_handled_after_their_numbers_have_begun_again_lower() -> None:
    """While one with a higher number is still being handled, too."""
    async with FakeTelegram() as telegram, polling(telegram) as (handler, poller):
        first = await telegram.send_update({"message": {}}, odd=True)
        await telegram.until(lambda: telegram.is_handled(first))
        handler.called.clear()
        handler.hold = asyncio.Event()
        await telegram.send_update({"message": {}}, odd=True)
        await handler.called.wait()
        telegram.updates.clear()
        telegram.restart_update_ids()
        held, handler.hold = handler.hold, None
        lower = [await telegram.send_update({"message": {}}, odd=True) for _ in range(2)]
        await telegram.until(lambda: telegram.is_handled(lower[-1]))
        assert handler.seen[2:] == lower
        held.set()
        last = await telegram.send_update({"message": {}}, odd=True)
        polls = len(telegram.calls("getUpdates"))
        await telegram.until(lambda: telegram.is_handled(last))
        assert last == lower[-1] + 1
        assert handler.seen[4:] == [last]
        assert len(telegram.calls("getUpdates")) - polls < 6
        assert poller.outage_reason() is None


@pytest.mark.parametrize("error", [UnreadableRowError("odd"), ValueError("odd")])
async def test_an_odd_update_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async with FakeTelegram() as telegram, polling(telegram) as (handler, _):
        handler.failures = [error]
        number = await telegram.send_update({"message": {}}, odd=True)
        await telegram.until(lambda: telegram.is_handled(number))
        assert handler.seen == [number]


@pytest.mark.parametrize("error", [UnreadableRowError("odd"), ValueError("odd")])
async def test_an_odd_update_that_is_posted_is_not_posted_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def failing(*_: object) -> None:
        raise error

    async with rig(tmp_path, "http") as at:
        monkeypatch.setattr(at.service, "draft", failing)
        own = at.telegram.chats[at.ann.id]
        await at.telegram.person_sends(at.ann, own, "hello")
        await at.telegram.until(lambda: at.telegram.handled or at.telegram.refused_posts)
        assert not at.telegram.refused_posts


async def test_a_process_that_lost_the_lease_handles_and_confirms_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with FakeTelegram() as telegram:
        async with polling(telegram) as (handler, poller):
            handler.leads = False
            number = await telegram.send_update({"message": {}}, odd=True)
            await telegram.until(lambda: len(telegram.calls("getUpdates")) > 2)
            await poller.stop()
        assert handler.seen == []
        assert not telegram.is_handled(number)


async def test_what_is_not_handled_when_polling_stops_is_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "TIMEOUT", 0.05)
    async with FakeTelegram() as telegram, polling(telegram) as (handler, poller):
        handler.hold = asyncio.Event()
        number = await telegram.send_update({"message": {}}, odd=True)
        async with asyncio.timeout(WAIT):
            await handler.called.wait()
        await poller.stop()
        assert not telegram.is_handled(number)
        handler.hold = None
        await poller.start()
        await telegram.until(lambda: telegram.is_handled(number))
        assert handler.seen == [number, number]


async def test_polling_stops_although_the_last_updates_cannot_be_confirmed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with FakeTelegram() as telegram, polling(telegram) as (_, poller):
        number = await telegram.send_update({"message": {}}, odd=True)
        await telegram.until(lambda: telegram.is_handled(number))
        telegram.fail_next = ["getUpdates"]
        await poller.stop()
        assert "will send the last updates again" in caplog.text


async def test_a_second_service_with_the_same_token_is_reported_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with FakeTelegram() as telegram, polling(telegram):
        number = await telegram.send_update({"message": {}}, odd=True)
        await telegram.until(lambda: telegram.is_handled(number))
        async with polling(telegram):
            await telegram.until(lambda: "use one token for one service" in caplog.text)


async def test_a_typed_answer_counts_although_the_database_failed_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retry_quickly(monkeypatch)
    question = {"id": "why", "text": "Why?", "answer_type": "text"}
    async with rig(tmp_path) as at:
        apply, failures = at.service.apply, [StoreError("the disk is full")] * 5

        async def failing(*args: Any, **kwargs: Any) -> Any:
            if failures:
                raise failures.pop()
            return await apply(*args, **kwargs)

        ask = await at.submit([question])
        at.telegram.pass_time()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(at.service, "apply", failing)
            said = await at.telegram.person_sends(
                at.ann, at.group, "because", live(at.group, ask).id
            )
            await at.telegram.until(lambda: said.reactions)
        assert said.reactions == ["👍"]
        assert (await at.shown(ask)).status is Status.ANSWERED


async def test_a_poll_that_fails_edits_no_message(tmp_path: Path) -> None:
    async with rig(tmp_path, delays=HASTY) as at:
        await at.submit([GO])
        ask = await at.submit([GO])
        await at.telegram.until(lambda: at.telegram.calls("getUpdates"))
        before = len(at.telegram.log)
        await at.telegram.interrupt_poll()
        await at.telegram.until(lambda: at.telegram.calls("getUpdates", since=before))
        await send_click(at, at.ann, live(at.group, ask), "x")
        await at.message_sync.wait_until_idle()
        assert at.telegram.calls("editMessageText", since=before) == []
