"""Scheduled work that crashes: a deadline ends its ask all the same, and anything else backs off and stops."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.errors import StoreError
from answerback.core.escalation import escalate
from answerback.service import service as service_module
from answerback.service.expiry import expire_change
from answerback.service.service import Service
from answerback.workers import scheduler as scheduler_module
from answerback.workers.crashes import MAX_CRASHES, Crashes, Work
from answerback.workers.message_sync import MessageSync
from answerback.workers.reminders import remind
from answerback.workers.scheduler import Scheduler
from tests.service_support import boolean
from tests.unit.bot.background_support import escalating_routes, submit
from tests.unit.bot.conftest import Parts

DEFECT = ValueError("unforeseen")


class Crashing:
    """Stands in for a function, and raises what is left of the given errors before it does its work."""

    def __init__(self, works: Callable[..., Any], errors: list[Exception]) -> None:
        self._works, self.errors, self.calls = works, errors, 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return self._works(*args, **kwargs)


def crash_at_deadlines(monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> Crashing:
    crashing = Crashing(expire_change, list(errors))
    monkeypatch.setattr(service_module, "expire_change", crashing)
    return crashing


async def run(scheduler: Scheduler) -> None:
    while await scheduler.run_once():
        await scheduler.wait_until_idle()


async def status_of(service: Service, ask: Ask) -> Status:
    now = await service.get(ask.id)
    assert now is not None
    return now.status


@pytest.mark.rule("SUBMIT-19")
async def test_an_ask_whose_deadline_crashes_three_times_ends_without_its_defaults(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    crashing = crash_at_deadlines(monkeypatch, *[DEFECT] * 9)
    service = parts.service()
    scheduler = Scheduler(service, MessageSync(service))
    question = boolean(default=True)
    ask = await submit(service, question, to="web", expires_in=60, on_expiry="defaults")
    await parts.clock.advance(61)
    for crashes in (1, 2, 3):
        await run(scheduler)
        await run(scheduler)
        assert crashing.calls == crashes, "not again before half a minute has passed"
        assert await status_of(service, ask) is Status.OPEN
        await parts.clock.advance(30)
    await run(scheduler)
    assert await status_of(service, ask) is Status.EXPIRED
    now = await service.get(ask.id)
    assert now is not None
    assert now.walk.answers == ()
    bodies = [line.entry.body for line in await service.record(ask.id)]
    assert {"crashed_at_deadline": 3} in bodies
    says = [each for each in caplog.records if getattr(each, "action", "") == "expired_plainly"]
    assert [each.levelno for each in says] == [logging.ERROR]


@pytest.mark.rule("SUBMIT-19")
async def test_a_deadline_that_crashes_twice_takes_the_defaults_the_third_time(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_at_deadlines(monkeypatch, DEFECT, DEFECT)
    service = parts.service()
    scheduler = Scheduler(service, MessageSync(service))
    question = boolean(default=True)
    ask = await submit(service, question, to="web", expires_in=60, on_expiry="defaults")
    for seconds in (61, 31, 31):
        await parts.clock.advance(seconds)
        await run(scheduler)
    assert await status_of(service, ask) is Status.ANSWERED


@pytest.mark.rule("SUBMIT-19")
async def test_a_database_that_fails_at_a_deadline_ends_nothing(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_at_deadlines(monkeypatch, *[StoreError("the disk is full")] * 5)
    service = parts.service()
    scheduler = Scheduler(service, MessageSync(service))
    question = boolean(default=True)
    ask = await submit(service, question, to="web", expires_in=60, on_expiry="defaults")
    await parts.clock.advance(61)
    for _ in range(5):
        with pytest.raises(StoreError):
            await scheduler.run_once()
        await parts.clock.advance(31)
    await run(scheduler)
    assert await status_of(service, ask) is Status.ANSWERED


@pytest.mark.rule("SUBMIT-19")
async def test_no_ask_ends_before_its_deadline_however_often_it_crashed(parts: Parts) -> None:
    service = parts.service()
    ask = await submit(service, to="web", expires_in=60)
    await service.expire_plainly(ask.id, 3)
    assert await status_of(service, ask) is Status.OPEN
    forever = await submit(service, to="web")
    await service.expire_plainly(forever.id, 3)
    assert await status_of(service, forever) is Status.OPEN
    await parts.clock.advance(60)
    await service.expire_plainly(ask.id, 3)
    assert await status_of(service, ask) is Status.EXPIRED


def crash_escalation(monkeypatch: pytest.MonkeyPatch, _: Service) -> Crashing:
    crashing = Crashing(escalate, [DEFECT] * 99)
    monkeypatch.setattr(scheduler_module, "escalate", crashing)
    return crashing


def crash_reminders(monkeypatch: pytest.MonkeyPatch, _: Service) -> Crashing:
    crashing = Crashing(remind, [DEFECT] * 99)
    monkeypatch.setattr(scheduler_module, "remind", crashing)
    return crashing


def crash_presence(monkeypatch: pytest.MonkeyPatch, service: Service) -> Crashing:
    crashing = Crashing(service.presence.has_waiter, [DEFECT] * 99)
    monkeypatch.setattr(service.presence, "has_waiter", crashing)
    return crashing


@pytest.mark.rule("SUBMIT-19")
@pytest.mark.parametrize("crash", [crash_escalation, crash_reminders, crash_presence])
async def test_other_work_that_crashes_backs_off_and_stops_and_delays_no_deadline(
    parts: Parts,
    monkeypatch: pytest.MonkeyPatch,
    crash: Callable[[pytest.MonkeyPatch, Service], Crashing],
) -> None:
    service = parts.service(routes=escalating_routes("chat:C2"))
    scheduler = Scheduler(service, MessageSync(service))
    crashing = crash(monkeypatch, service)
    envelope: dict[str, Any] = {"remind_after": [10], "expires_in": 7_200}
    ask = await submit(service, to=None, responders=None, **envelope)
    calls = []
    for _ in range(100):
        await parts.clock.advance(61)
        await run(scheduler)
        calls.append(crashing.calls)
    assert calls[-1] == MAX_CRASHES
    assert calls[5] < MAX_CRASHES, "it backs off"
    assert await status_of(service, ask) is Status.OPEN
    await parts.clock.advance(7_200 - 6_100)
    await run(scheduler)
    assert await status_of(service, ask) is Status.EXPIRED


@pytest.mark.rule("SUBMIT-19")
async def test_a_clock_that_is_set_back_forgets_crashes() -> None:
    crashes = Crashes()
    assert crashes.record("ask_1", Work.REMINDER, 1_000.0) == 1
    assert not crashes.may_try("ask_1", Work.REMINDER, 1_029.0)
    assert crashes.may_try("ask_1", Work.REMINDER, 1_030.0)
    assert crashes.may_try("ask_1", Work.ESCALATION, 1_000.0)
    assert crashes.next_attempts() == [1_030.0]
    crashes.clear()
    assert (crashes.ask_ids, crashes.may_try("ask_1", Work.REMINDER, 0.0)) == (set(), True)


@pytest.mark.rule("SUBMIT-19")
async def test_crashes_of_very_many_asks_take_a_bounded_memory() -> None:
    crashes = Crashes(max_known=2)
    for number in range(3):
        crashes.record(f"ask_{number}", Work.DEADLINE, 0.0)
    assert crashes.ask_ids == {"ask_1", "ask_2"}
    crashes.forget("ask_1")
    assert crashes.ask_ids == {"ask_2"}
