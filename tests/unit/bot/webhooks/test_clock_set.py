"""The clock is set, while a service runs or while none does: nothing waits longer because of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.errors import RateLimitedError, StoreError
from answerback.outbox.dispatcher import RETRY_DELAYS, DispatchLimits
from answerback.ports.claims import Claim
from answerback.ports.clock import ClockStepDetector
from answerback.ports.store_values import DeliveryState, StoredDelivery
from answerback.runtime.clock import SystemClock
from answerback.workers.message_sync import MessageSync
from answerback.workers.scheduler import Scheduler
from tests.fakes.receiver import receiving, status
from tests.service_support import WAIT, ask_user
from tests.unit.bot.background_support import (
    ScriptedInquiry,
    ended,
    inquiry_rules,
    reopen_store,
    running,
    submit,
)
from tests.unit.bot.conftest import Parts
from tests.unit.bot.outbox_support import outbox

DAY = 86_400.0


@pytest.mark.rule("DATA-15")
async def test_a_reminder_is_sent_on_time_although_the_clock_was_set_back(
    parts: Parts,
) -> None:
    async with running(parts) as (service, _):
        ask = await submit(service, remind_after=[60, 120])
        await parts.chat.until(lambda: ask.id in parts.chat.messages)
        await parts.clock.advance(50)
        await parts.clock.set(-DAY)
        await until_rescheduled(parts, ask)
        await parts.clock.advance(11)
        await parts.chat.until(lambda: len(parts.chat.reminders) == 1)
        await parts.clock.set(-DAY)
        await parts.clock.advance(61)
        await parts.chat.until(lambda: len(parts.chat.reminders) == 2)


@pytest.mark.rule("DATA-15")
async def test_an_inquiry_does_not_wait_for_a_clock_that_was_set_back(parts: Parts) -> None:
    rules, call = inquiry_rules()
    before = parts.service(rules, inquiry=True)
    ask = (await before.submit(ask_user().model_copy(update=call))).ask
    await parts.clock.set(-DAY)
    async with running(parts, rules, ScriptedInquiry(answer=True)) as (service, _):
        assert (await ended(service, ask)).status is Status.ANSWERED


async def until_rescheduled(parts: Parts, ask: Ask) -> None:
    """Return once the store knows that the clock was set back."""
    async with asyncio.timeout(WAIT):
        found = await parts.store.asks.get(ask.id)
        while found is None or not found.schedule.clock_set_back:
            await asyncio.sleep(0)
            found = await parts.store.asks.get(ask.id)
    assert found.schedule.clock_set_back == pytest.approx(DAY)


@pytest.mark.rule("DATA-15")
async def test_an_ask_expires_on_time_although_the_clock_was_set_back(parts: Parts) -> None:
    async with running(parts) as (service, _):
        ask = await submit(service, expires_in=60)
        await parts.clock.advance(50)
        await parts.clock.set(-DAY)
        await until_rescheduled(parts, ask)
        await parts.clock.advance(11)
        assert (await ended(service, ask)).status is Status.EXPIRED


@pytest.mark.rule("DATA-15")
async def test_a_clock_set_back_while_no_service_ran_is_detected_at_the_start(
    parts: Parts, tmp_path: Path
) -> None:
    service = parts.service()
    ask = await submit(service, remind_after=[60])
    await reopen_store(parts, tmp_path)
    await parts.clock.set(-DAY)
    async with running(parts):
        await until_rescheduled(parts, ask)
        await parts.chat.until(lambda: ask.id in parts.chat.messages)
        await parts.clock.advance(61)
        await parts.chat.until(lambda: len(parts.chat.reminders) == 1)


async def test_deadlines_created_after_the_clock_was_set_back_use_the_new_time(
    parts: Parts,
) -> None:
    async with running(parts) as (service, _):
        old = await submit(service, remind_after=[60])
        await parts.clock.set(-DAY)
        new = await submit(service, remind_after=[60])
        await until_rescheduled(parts, old)
        found = await parts.store.asks.get(new.id)
        assert found is not None
        assert found.schedule.clock_set_back == 0
        await parts.clock.advance(30)
        assert parts.chat.reminders == []


async def test_when_the_clock_is_set_forward_overdue_asks_expire_at_once(parts: Parts) -> None:
    async with running(parts) as (service, _):
        ask = await submit(service, expires_in=3_600)
        await parts.clock.set(3_601)
        assert (await ended(service, ask)).status is Status.EXPIRED


async def test_a_set_back_is_applied_once_to_a_store_that_fails_at_first(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    upkeep = Scheduler(service, MessageSync(service))
    ask = await submit(service, remind_after=[60])
    await parts.clock.set(-DAY)
    at = parts.clock.now()
    for _ in range(2):  # as after a COMMIT with an unknown result
        upkeep._set_backs.append((DAY, at))
        await upkeep._reschedule()
    found = await parts.store.asks.get(ask.id)
    assert found is not None
    assert found.schedule.clock_set_back == pytest.approx(DAY)
    statement = "SELECT entry FROM record WHERE ask_id IS NULL"
    lines = await parts.store.database.read(lambda db: db.execute(statement).fetchall())
    assert [json.loads(line)["body"] for (line,) in lines] == [{"clock_set_back": DAY}]


@pytest.mark.rule("DATA-15")
async def test_a_webhooks_retry_does_not_wait_for_a_clock_that_was_set_back(
    tmp_path: Path,
) -> None:
    async with outbox(tmp_path) as box, receiving() as receiver, box.draining():
        upkeep = Scheduler(box.service, MessageSync(box.service))
        running = asyncio.create_task(upkeep.run())
        await box.clock.wait_for_sleepers(1)
        receiver.answers = [status(500), status(429, Retry_After="60")]
        retried = await box.answered(receiver.url)
        await box.wait_for_tries(retried, 1)
        paused = await box.answered(f"{receiver.url}/b")
        await box.wait_for_tries(paused, 1)
        await box.clock.set(-DAY)
        async with asyncio.timeout(WAIT):
            while ((await box.delivery(paused)).next_at or 0) > box.clock.now() + DAY / 2:  # noqa: ASYNC110 nothing signals this
                await asyncio.sleep(0)
        await box.clock.advance(RETRY_DELAYS[0])
        assert (await box.wait_for_tries(retried, 2)).state is DeliveryState.DELIVERED
        assert len(receiver.received) == 3
        await box.clock.advance(60)
        assert (await box.wait_for_tries(paused, 2)).state is DeliveryState.DELIVERED
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await upkeep.stop()


@pytest.mark.rule("DATA-15")
async def test_a_webhook_postponed_while_the_clock_is_set_back_uses_the_new_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with outbox(tmp_path) as box, receiving() as receiver:
        claim_deliveries, meanwhile = box.store.outbox.claim, [box.set_back]

        async def claimed(claim: Claim, now: float, limit: int) -> Sequence[StoredDelivery]:
            found = await claim_deliveries(claim, now, limit)
            if found and meanwhile:
                await meanwhile.pop()(DAY)
            return found

        async with box.draining():
            receiver.answers = [status(429, Retry_After="60")]
            await box.wait_for_tries(await box.answered(receiver.url), 1)
            monkeypatch.setattr(box.store.outbox, "claim", claimed)
            put_off = await box.answered(receiver.url)
            async with asyncio.timeout(WAIT), box.store.outbox.changed:
                at_once = (put_off.created_at, put_off.created_at - DAY)
                while (found := await box.delivery(put_off)).next_at in at_once:
                    await box.store.outbox.changed.wait()
            assert found.next_at == pytest.approx(box.clock.now() + 60, abs=5)


@pytest.mark.rule("DATA-15")
async def test_a_result_stored_after_the_clock_was_set_back_uses_the_new_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with outbox(tmp_path) as box, receiving() as receiver:
        tried, meanwhile = box.store.outbox.save_results, [box.set_back]

        async def failing(*args: Any) -> None:
            if meanwhile:
                await meanwhile.pop()(DAY)
                raise StoreError("the disk is full")
            await tried(*args)

        monkeypatch.setattr(box.store.outbox, "save_results", failing)
        receiver.answers = [status(500)]
        async with box.draining(limits=DispatchLimits(database_pause=0.01)):
            found = await box.wait_for_tries(await box.answered(receiver.url), 1)
        assert found.next_at == pytest.approx(box.clock.now() + RETRY_DELAYS[0], abs=1)


@pytest.mark.rule("DATA-15")
async def test_a_reminder_that_fails_after_the_clock_was_set_back_is_retried_by_the_new_time(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    upkeep = Scheduler(service, MessageSync(service))
    remind, meanwhile = parts.web.remind, [DAY]

    async def failing(ask: Ask, number: int) -> None:
        if meanwhile:
            await parts.clock.set(-meanwhile.pop())
            await upkeep._reschedule()
            raise RateLimitedError("too many", retry_after=10)
        await remind(ask, number)

    monkeypatch.setattr(parts.web, "remind", failing)
    await submit(service, to="web", remind_after=[60])
    for wait in (61, 11):
        await parts.clock.advance(wait)
        await upkeep.run_once()
        await upkeep.wait_until_idle()
    assert len(parts.web.reminders) == 1


class Machine:
    """The machine's clocks, one of which gets set."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def time(self) -> float:
        return 1_800_000_000.0 + self.ahead + self.monotonic()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


@pytest.mark.parametrize("ahead", [3_601.0, -DAY])
async def test_sleeping_by_the_machines_clock_soon_detects_that_it_was_set(
    monkeypatch: pytest.MonkeyPatch, ahead: float
) -> None:
    machine = Machine()
    monkeypatch.setattr(SystemClock, "now", machine.time)
    clock = SystemClock()
    sleeping = asyncio.create_task(clock.sleep_until(clock.now() + 3_600))
    await asyncio.sleep(0)
    machine.ahead = ahead
    async with asyncio.timeout(WAIT):
        await sleeping


async def test_a_clock_that_drifts_or_is_set_forward_was_not_set_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine()
    monkeypatch.setattr(SystemClock, "now", machine.time)
    watch = ClockStepDetector(SystemClock())
    found = []
    for ahead in (0.5, 0.0, 3_600.0, 3_599.5, -10.0, -10.0):
        machine.ahead = ahead
        found.append(watch.measure_set_back())
    # The time that passes in between counts as well.
    assert found == [0, 0, 0, 0, pytest.approx(3_610, abs=5), 0]
