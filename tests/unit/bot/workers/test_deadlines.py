"""Deadlines that come while the scheduler is busy: none is missed, and none is delayed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from answerback.core.ask import Ask, Change, Status
from answerback.core.errors import RateLimitedError
from answerback.ports.claims import Claim
from answerback.workers.message_sync import MessageSync
from answerback.workers.scheduler import Scheduler
from tests.service_support import WAIT, ask_user
from tests.unit.bot.background_support import HangingInquiry, ended, inquiry_rules, running, submit
from tests.unit.bot.conftest import Parts


async def test_a_hanging_reminder_delays_no_deadline_of_any_ask(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    reminding = asyncio.Event()

    async def remind(_ask: Ask, _number: int) -> None:
        reminding.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(parts.web, "remind", remind)
    async with running(parts) as (service, _):
        own = await submit(service, to="web", remind_after=[10], expires_in=20)
        other = await submit(service, to="web", expires_in=30)
        await parts.clock.advance(11)
        await reminding.wait()
        await parts.clock.advance(10)
        assert (await ended(service, own)).status is Status.EXPIRED
        await parts.clock.advance(10)
        assert (await ended(service, other)).status is Status.EXPIRED


@pytest.mark.rule("SUBMIT-13")
async def test_reminders_that_hang_are_abandoned_and_keep_none_of_another_surface_from_being_sent(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    scheduler = Scheduler(service, MessageSync(service), reminder_timeout=0.05)
    tried: list[str] = []

    async def remind(ask: Ask, _number: int) -> None:
        tried.append(ask.id)
        await asyncio.Event().wait()

    monkeypatch.setattr(parts.web, "remind", remind)
    hanging = [await submit(service, to="web", remind_after=[10]) for _ in range(12)]
    other = await submit(service, remind_after=[11])
    await service.update(other.id, _shown)
    await parts.clock.advance(12)
    assert await scheduler.run_once()
    await scheduler.wait_until_idle()
    assert parts.chat.reminders == [(other.id, 0)]
    await parts.clock.advance(31)
    assert await scheduler.run_once()
    await scheduler.wait_until_idle()
    assert sorted(tried) == sorted([each.id for each in hanging] * 2)


def _shown(ask: Ask, _at: float) -> Change:
    return Change(replace(ask, placement=replace(ask.placement, message={"id": "1"})), ())


async def test_a_postponed_reminder_delays_no_deadline_of_its_ask(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = asyncio.Event()

    async def remind(_ask: Ask, _number: int) -> None:
        refused.set()
        raise RateLimitedError("too many", retry_after=600)

    monkeypatch.setattr(parts.web, "remind", remind)
    async with running(parts) as (service, _):
        ask = await submit(service, to="web", remind_after=[10], expires_in=20)
        await parts.clock.advance(11)
        await refused.wait()
        await parts.clock.advance(10)
        assert (await ended(service, ask)).status is Status.EXPIRED


async def test_a_hanging_inquiry_does_not_outlive_its_ask(parts: Parts) -> None:
    rules, call = inquiry_rules()
    backend = HangingInquiry()
    async with running(parts, rules, backend) as (service, _):
        ask = (await service.submit(ask_user().model_copy(update=call | {"expires_in": 20.0}))).ask
        await backend.asked.wait()
        await parts.clock.advance(21)
        assert (await ended(service, ask)).status is Status.EXPIRED


async def test_a_deadline_added_while_the_scheduler_is_awake_is_not_missed(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, came = list[Ask](), asyncio.Event()
    next_due = parts.store.claims.next_due

    async with running(parts) as (service, _):

        async def with_one_more(now: float) -> float | None:
            found = await next_due(now)
            if (
                first.schedule.expires_at is not None
                and now >= first.schedule.expires_at
                and not late
            ):
                late.append(await submit(service, to="web", expires_in=5))
                came.set()
            return found

        monkeypatch.setattr(parts.store.claims, "next_due", with_one_more)
        first = await submit(service, to="web", expires_in=30)
        await parts.clock.advance(31)
        await ended(service, first)
        async with asyncio.timeout(WAIT):
            await came.wait()
        await parts.clock.advance(6)
        assert (await ended(service, late[0])).status is Status.EXPIRED


@pytest.mark.parametrize("defect", [KeyError("unforeseen"), TimeoutError("unforeseen")])
async def test_a_crash_in_one_asks_reminder_is_logged_and_retried(
    parts: Parts,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    defect: Exception,
) -> None:
    service = parts.service()
    scheduler = Scheduler(service, MessageSync(service))
    await submit(service, to="web", remind_after=[10])
    tried: list[int] = []

    async def remind(_ask: Ask, number: int) -> None:
        tried.append(number)
        raise defect

    monkeypatch.setattr(parts.web, "remind", remind)
    await parts.clock.advance(11)
    assert await scheduler.run_once()
    await scheduler.wait_until_idle()
    assert "unforeseen" in caplog.text
    assert not await scheduler.run_once(), "not before half a minute has passed"
    await parts.clock.advance(31)
    assert await scheduler.run_once()
    await scheduler.wait_until_idle()
    assert tried == [0, 0]


async def test_an_ask_that_ended_after_it_was_claimed_is_left_alone(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    scheduler = Scheduler(service, MessageSync(service))
    ask = await submit(service, to="web", expires_in=10)
    find = parts.store.claims.claim_due

    async def due(claim: Claim, now: float, limit: int) -> Sequence[str]:
        found = await find(claim, now, limit)
        await service.withdraw(ask.id)
        return found

    await parts.clock.advance(11)
    with monkeypatch.context() as patched:
        patched.setattr(parts.store.claims, "claim_due", due)
        assert await scheduler.run_once(), "there may be more after it"
    assert not await scheduler.run_once()
    assert (await ended(service, ask)).status is Status.WITHDRAWN


async def test_a_deadline_later_than_the_next_does_not_wake_the_scheduler(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    scheduler = Scheduler(service, MessageSync(service))
    asleep = asyncio.Event()

    async def sleep(_until: float) -> None:
        asleep.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(scheduler, "_sleep", sleep)
    first = await submit(service, to="web", expires_in=10)
    loop = asyncio.create_task(scheduler.run())
    async with asyncio.timeout(WAIT):
        await asleep.wait()
    assert first.schedule.expires_at is not None
    scheduler.due(first.schedule.expires_at + 3_600)
    assert not scheduler._wake.is_set()
    loop.cancel()
    await asyncio.gather(loop, return_exceptions=True)
