"""Background work when something else was faster, is gone, or does not respond: nothing is repeated or forgotten."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Status
from answerback.core.errors import DestinationGoneError, PlatformUnavailableError, UnauthorizedError
from answerback.ports.claims import SOLE_CLAIM
from answerback.ports.surface import Acted
from answerback.workers import scheduler as scheduler_module
from answerback.workers.message_sync import MessageSync
from answerback.workers.scheduler import Scheduler
from answerback_storage.sqlite.store import SqliteStore
from tests.service_support import WAIT, FakePage, FakeSurface, ManualClock, actor, ask_user, boolean
from tests.unit.bot.background_support import (
    HangingInquiry,
    ScriptedInquiry,
    ended,
    escalating_routes,
    inquiry_rules,
    running,
    shows,
    submit,
    wait_for_escalation,
)
from tests.unit.bot.conftest import Parts

ESCALATED = escalating_routes("web")


async def test_work_done_while_the_scheduler_was_busy_is_not_repeated(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_module, "_MAX_CONCURRENT_REMINDERS", 1)
    service = parts.service()
    scheduler, other = (Scheduler(service, MessageSync(service)) for _ in range(2))
    asks = [await submit(service, to="web", remind_after=[10 + n]) for n in range(3)]
    reminded: list[str] = []

    async def remind(ask: Ask, number: int) -> None:
        reminded.append(ask.id)
        if len(reminded) == 1:  # during the first reminder
            await service.withdraw(asks[1].id)
            reminded.append(asks[2].id)
            stored = await service.get(asks[2].id)
            assert stored is not None
            await other._handle_due(stored, parts.clock.now(), inf)
            await other.wait_until_idle()

    monkeypatch.setattr(parts.web, "remind", remind)
    await parts.clock.advance(20)
    assert await scheduler.run_once()
    await scheduler.wait_until_idle()
    assert reminded == [asks[0].id, asks[2].id, asks[2].id]
    assert not await scheduler.run_once()


@pytest.mark.rule("SURFACE-13")
@pytest.mark.parametrize("error", [None, PlatformUnavailableError("It may have been posted")])
async def test_a_reminder_that_comes_after_its_ask_has_ended_is_closed(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, error: PlatformUnavailableError | None
) -> None:
    async with running(parts) as (service, sync):
        ask = await submit(service, remind_after=[10])
        await sync.wait_until_idle()

        async def remind(_ask: Ask, _number: int) -> None:
            await service.withdraw(ask.id)
            await sync.wait_until_idle()
            assert parts.chat.messages[ask.id].status is Status.WITHDRAWN
            if error is not None:
                raise error

        monkeypatch.setattr(parts.chat, "remind", remind)
        await parts.clock.advance(11)
        await parts.chat.until(lambda: parts.chat.messages[ask.id].schedule.reminders_done == 1)
        await sync.wait_until_idle()
        latest = await service.get(ask.id)
        assert latest is not None
        assert latest.placement.shown_revision == latest.revision


async def test_a_reminder_waits_for_a_surface_and_for_its_message(parts: Parts) -> None:
    service = parts.service()
    ask = await submit(service, remind_after=[10])
    await parts.clock.advance(11)
    scheduler = Scheduler(service, MessageSync(service))
    for elsewhere in (parts.service(surfaces=("web",)), service):
        scheduler = Scheduler(elsewhere, MessageSync(elsewhere))
        assert await scheduler.run_once()
        await scheduler.wait_until_idle()
        assert parts.chat.reminders == []
    shown = await parts.chat.shown(ask)
    await parts.store.asks.save_shown(ask.id, shown)
    assert not await scheduler.run_once(), "not before half a minute has passed"
    await parts.clock.advance(31)
    assert await scheduler.run_once()
    await scheduler.wait_until_idle()
    assert parts.chat.reminders == [(ask.id, 0)]


@pytest.mark.rule("SUBMIT-13")
@pytest.mark.parametrize("why", ["no message yet", "the platform is away", "the service was down"])
async def test_only_the_latest_of_the_reminders_that_nobody_could_post_is_sent(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    service = parts.service()
    ask = await submit(service, remind_after=[10, 20, 30, 500])
    shown = await parts.chat.shown(ask)
    if why != "no message yet":
        await parts.store.asks.save_shown(ask.id, shown)
    scheduler = Scheduler(service, MessageSync(service))

    async def pass_time(seconds: float) -> None:
        await parts.clock.advance(seconds)
        while await scheduler.run_once():
            await scheduler.wait_until_idle()

    async def away(*_: object) -> None:
        raise PlatformUnavailableError("away")

    if why == "the service was down":
        await parts.clock.advance(31)
    else:
        with monkeypatch.context() as patch:
            if why == "the platform is away":
                patch.setattr(parts.chat, "remind", away)
            for seconds in (11, 10, 10):
                await pass_time(seconds)
    assert parts.chat.reminders == []
    await parts.store.asks.save_shown(ask.id, shown)
    await pass_time(60)
    await pass_time(60)
    assert parts.chat.reminders == [(ask.id, 2)]
    await pass_time(500)
    assert parts.chat.reminders == [(ask.id, 2), (ask.id, 3)]


async def test_an_ask_that_was_escalated_meanwhile_is_not_escalated_again(parts: Parts) -> None:
    service = parts.service(routes=ESCALATED)
    scheduler = Scheduler(service, MessageSync(service))
    stale = await submit(service, to=None, responders=None)
    await parts.clock.advance(61)
    for _ in range(2):
        await scheduler._handle_due(stale, parts.clock.now(), inf)
    escalations = [e for e in await service.record(stale.id) if "escalated" in e.entry.body]
    assert len(escalations) == 1
    now = await service.get(stale.id)
    assert now is not None
    assert (now.placement.destination.surface, now.revision) == ("web", 2)


async def test_an_inquiry_whose_answer_cannot_be_stored_is_repeated(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "asks.db", busy_timeout=0.05)
    await store.open()
    parts = Parts(store, ManualClock(), FakeSurface(), FakePage("web", responders=("anyone",)))
    rules, call = inquiry_rules()
    inquiry = ScriptedInquiry(answer=True)
    service = parts.service(rules, inquiry=True)
    ask = (await service.submit(ask_user().model_copy(update=call))).ask
    scheduler = Scheduler(service, MessageSync(service), inquiry.answer)
    other = sqlite3.connect(tmp_path / "asks.db", isolation_level=None)
    await store.claims.claim_due(SOLE_CLAIM, parts.clock.now(), 1)
    other.execute("BEGIN IMMEDIATE")
    assert await scheduler.run_once()
    await scheduler.wait_until_idle()
    other.execute("ROLLBACK")
    other.close()
    assert not await scheduler.run_once(), "not before half a minute has passed"
    await parts.clock.advance(31)
    assert await scheduler.run_once()
    done = await ended(service, ask)
    assert (done.status, inquiry.asked) == (Status.ANSWERED, ["force"] * 2)
    await store.close()


async def test_an_inquiry_running_at_a_stop_is_cancelled_and_repeated(parts: Parts) -> None:
    rules, call = inquiry_rules()
    hanging = HangingInquiry()
    async with running(parts, rules, hanging) as (service, _):
        ask = (await service.submit(ask_user().model_copy(update=call))).ask
        async with asyncio.timeout(WAIT):
            await hanging.asked.wait()
    async with running(parts, rules, ScriptedInquiry(answer=True)) as (service, _):
        assert (await ended(service, ask)).status is Status.ANSWERED


async def test_an_inquirys_answer_to_a_question_for_people_changes_nothing(
    parts: Parts,
) -> None:
    service = parts.service()
    ask = await submit(service)
    done = await service.answer_by_inquiry(ask.id, value=True)
    assert isinstance(done, Acted)
    assert await service.get(ask.id) == ask


async def test_a_record_that_can_no_longer_be_shown_is_not_retried_for_ever(
    parts: Parts,
) -> None:
    async with running(parts) as (service, shower):
        ask = await submit(service)
        await parts.chat.until(shows(parts, ask, 1))
        parts.chat.failures.append(DestinationGoneError("The channel is gone."))
        await service.act(ask.id, Answer(value=True), actor())
        await shower.wait_until_idle()
        now = await service.get(ask.id)
    assert now is not None
    assert (now.status, now.placement.shown_revision) == (Status.ANSWERED, now.revision)


async def test_an_ask_updated_by_other_means_is_checked_when_its_time_is_up(
    parts: Parts,
) -> None:
    async with running(parts) as (service, shower):
        ask = await submit(service, boolean(), boolean("sure"))
        await parts.chat.until(shows(parts, ask, 1))
        await shower.wait_until_idle()
        parts.chat.later, before = 0.02, parts.chat.shows
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(lambda: parts.chat.shows >= before + 2)
        assert parts.chat.messages[ask.id].revision == 1
        parts.chat.later = 0.0
        await parts.chat.until(shows(parts, ask, 2))


async def test_a_change_during_an_update_by_other_means_is_shown_afterwards(
    parts: Parts,
) -> None:
    async with running(parts) as (service, shower):
        ask = await submit(service, boolean(), boolean("sure"))
        await parts.chat.until(shows(parts, ask, 1))
        await shower.wait_until_idle()
        parts.chat.later, before = 1.0, parts.chat.shows
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(lambda: parts.chat.shows == before + 1)
        parts.chat.later = 0.0
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(shows(parts, ask, 3))
    assert parts.chat.shows == before + 2


async def test_an_ask_updated_by_other_means_is_not_checked_at_every_change(
    parts: Parts,
) -> None:
    async with running(parts) as (service, shower):
        ask = await submit(service, *(boolean(f"q{n}") for n in range(4)))
        await parts.chat.until(shows(parts, ask, 1))
        await shower.wait_until_idle()
        parts.chat.later, before = 1.0, parts.chat.shows
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(lambda: parts.chat.shows == before + 1)
        for _ in range(2):
            await service.act(ask.id, Answer(value=True), actor())
        parts.chat.later = 0.0
        await parts.chat.until(shows(parts, ask, 4))
    assert parts.chat.shows == before + 2


async def test_an_ask_escalated_during_an_update_by_other_means_is_posted_at_once(
    parts: Parts,
) -> None:
    async with running(parts, routes=escalating_routes("chat:C2")) as (service, shower):
        ask = await submit(service, boolean(), boolean("sure"), to=None, responders=None)
        await parts.chat.until(shows(parts, ask, 1))
        await shower.wait_until_idle()
        parts.chat.later, before = 600.0, parts.chat.shows
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(lambda: parts.chat.shows == before + 1)
        parts.chat.later = 0.0
        await wait_for_escalation(parts, service, ask)
        await parts.chat.until(
            lambda: parts.chat.messages[ask.id].placement.destination.channel == "C2"
        )


async def test_showing_an_unknown_ask_does_nothing(parts: Parts) -> None:
    async with running(parts) as (service, shower):
        ask = await submit(service)
        await shower.wait_until_idle()
        parts.chat.shows = 0
        shower.request_sync(replace(ask, id="ask_none"))
        await shower.wait_until_idle()
    assert parts.chat.shows == 0


async def test_an_ask_on_an_unconfigured_surface_is_left_alone(parts: Parts) -> None:
    ask = await submit(parts.service())
    async with running(parts, surfaces=("web",)) as (service, shower):
        shower.request_sync(ask)
        await shower.wait_until_idle()
        assert await service.get(ask.id) == ask
    assert parts.chat.shows == 0


async def test_a_note_that_cannot_be_posted_is_abandoned(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def moved(*_: object) -> None:
        raise UnauthorizedError("revoked")

    monkeypatch.setattr(parts.chat, "retire_message", moved)
    async with running(parts, routes=ESCALATED) as (service, shower):
        ask = await submit(service, to=None, responders=None)
        await parts.chat.until(shows(parts, ask, 1))
        await shower.wait_until_idle()
        await wait_for_escalation(parts, service, ask)
        await shower.wait_until_idle()
        now = await service.get(ask.id)
    assert now is not None
    assert (now.placement.destination.surface, now.to_retire) == ("web", None)


async def test_a_place_on_a_removed_surface_gets_no_note(
    parts: Parts,
) -> None:
    async with running(parts, routes=ESCALATED) as (service, shower):
        ask = await submit(service, to=None, responders=None)
        await shower.wait_until_idle()
    await parts.clock.advance(61)
    async with running(parts, routes=ESCALATED, surfaces=("web",)) as (service, shower):
        with service.follow(ask.id) as follower:
            async with asyncio.timeout(WAIT):
                while (await service.get(ask.id) or ask).placement.destination.surface != "web":
                    await follower.next_commit()
        await shower.wait_until_idle()
        now = await service.get(ask.id)
    assert now is not None
    assert (now.to_retire, parts.chat.notes) == (None, [])


async def test_a_follower_that_leaves_does_not_affect_the_others(parts: Parts) -> None:
    service = parts.service()
    ask = await submit(service)
    with service.follow(ask.id) as stays:
        with service.follow(ask.id):
            assert service.signals.count == 2
        await service.withdraw(ask.id)
        async with asyncio.timeout(WAIT):
            result = await stays.next_commit()
    assert result is not None
    assert (result.status, service.signals.count) == (Status.WITHDRAWN, 0)


async def test_a_follower_never_gets_an_older_state_after_a_newer_one(parts: Parts) -> None:
    service = parts.service()
    ask = await submit(service, boolean("a"), boolean("b"))
    acted = await service.act(ask.id, Answer(value=True), actor())
    assert isinstance(acted, Acted)
    with service.follow(ask.id) as follower:
        service.signals.notify(acted.ask)
        service.signals.notify(ask)  # two commits of one batch, notified in another order
        assert await follower.next_commit() == acted.ask
