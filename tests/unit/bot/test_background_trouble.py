"""The background when something else was faster, is gone, or does not answer: nothing is done twice or forgotten."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.errors import DestinationGoneError, UnauthorizedError
from answerback.core.walker import Answer
from answerback.ports.claims import SOLE_CLAIM
from answerback.ports.surface import Acted
from answerback.workers import scheduler as upkeep_module
from answerback.workers.message_sync import MessageSync
from answerback.workers.scheduler import Scheduler
from answerback_storage.sqlite.store import SqliteStore
from tests.service_parts import WAIT, FakePage, FakeSurface, ManualClock, actor, ask_user, boolean
from tests.unit.bot.background_parts import (
    Hanging,
    ScriptedInquiry,
    ended,
    escalated,
    hand_on,
    inquiry_rules,
    running,
    shows,
    submit,
)
from tests.unit.bot.conftest import Parts

ESCALATED = escalated("web")


async def test_what_was_done_while_upkeep_was_busy_is_not_done_again(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep_module, "_MAX_CONCURRENT_REMINDERS", 1)
    service = parts.service()
    upkeep, other = (Scheduler(service, MessageSync(service)) for _ in range(2))
    asks = [await submit(service, to="web", remind_after=[10 + n]) for n in range(3)]
    reminded: list[str] = []

    async def remind(ask: Ask, number: int) -> None:
        reminded.append(ask.id)
        if len(reminded) == 1:  # while the first is being reminded of
            await service.withdraw(asks[1].id)
            reminded.append(asks[2].id)
            stored = await service.get(asks[2].id)
            assert stored is not None
            await other._handle_due(stored, parts.clock.now(), inf)
            await other.wait_until_idle()

    monkeypatch.setattr(parts.web, "remind", remind)
    await parts.clock.advance(20)
    assert await upkeep.run_once()
    await upkeep.wait_until_idle()
    assert reminded == [asks[0].id, asks[2].id, asks[2].id]
    assert not await upkeep.run_once()


async def test_a_reminder_waits_for_a_surface_and_for_its_message(parts: Parts) -> None:
    service = parts.service()
    ask = await submit(service, remind_after=[10])
    await parts.clock.advance(11)
    upkeep = Scheduler(service, MessageSync(service))
    for elsewhere in (parts.service(surfaces=("web",)), service):
        upkeep = Scheduler(elsewhere, MessageSync(elsewhere))
        assert await upkeep.run_once()
        await upkeep.wait_until_idle()
        assert parts.chat.reminders == []
    shown = await parts.chat.shown(ask)
    await parts.store.save_shown(ask.id, shown)
    assert not await upkeep.run_once(), "not before half a minute is over"
    await parts.clock.advance(31)
    assert await upkeep.run_once()
    await upkeep.wait_until_idle()
    assert parts.chat.reminders == [(ask.id, 0)]


async def test_an_ask_that_was_handed_on_meanwhile_is_not_handed_on_again(parts: Parts) -> None:
    service = parts.service(routes=ESCALATED)
    upkeep = Scheduler(service, MessageSync(service))
    stale = await submit(service, to=None, responders=None)
    await parts.clock.advance(61)
    for _ in range(2):
        await upkeep._handle_due(stale, parts.clock.now(), inf)
    handed_on = [e for e in await service.record(stale.id) if "escalated" in e.entry.body]
    assert len(handed_on) == 1
    now = await service.get(stale.id)
    assert now is not None
    assert (now.destination.surface, now.revision) == ("web", 2)


async def test_an_inquiry_whose_answer_cannot_be_stored_is_put_again(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "asks.db", busy_timeout=0.05)
    await store.open()
    parts = Parts(store, ManualClock(), FakeSurface(), FakePage("web", responders=("anyone",)))
    rules, call = inquiry_rules()
    inquiry = ScriptedInquiry(answer=True)
    service = parts.service(rules, inquiry=True)
    ask = (await service.submit(ask_user().model_copy(update=call))).ask
    upkeep = Scheduler(service, MessageSync(service), inquiry)
    other = sqlite3.connect(tmp_path / "asks.db", isolation_level=None)
    await store.claim_due(SOLE_CLAIM, parts.clock.now(), 1)
    other.execute("BEGIN IMMEDIATE")
    assert await upkeep.run_once()
    await upkeep.wait_until_idle()
    other.execute("ROLLBACK")
    other.close()
    assert not await upkeep.run_once(), "not before half a minute is over"
    await parts.clock.advance(31)
    assert await upkeep.run_once()
    done = await ended(service, ask)
    assert (done.status, inquiry.asked) == (Status.ANSWERED, ["force"] * 2)
    await store.close()


async def test_an_inquiry_under_way_at_a_stop_is_given_up_and_put_again(parts: Parts) -> None:
    rules, call = inquiry_rules()
    hanging = Hanging()
    async with running(parts, rules, hanging) as (service, _):
        ask = (await service.submit(ask_user().model_copy(update=call))).ask
        async with asyncio.timeout(WAIT):
            await hanging.asked.wait()
    async with running(parts, rules, ScriptedInquiry(answer=True)) as (service, _):
        assert (await ended(service, ask)).status is Status.ANSWERED


async def test_an_inquirys_answer_to_what_is_not_its_to_answer_changes_nothing(
    parts: Parts,
) -> None:
    service = parts.service()
    ask = await submit(service)
    done = await service.answer_by_inquiry(ask.id, value=True)
    assert isinstance(done, Acted)
    assert await service.get(ask.id) == ask


async def test_a_record_that_can_be_shown_no_more_is_given_up_and_not_tried_for_ever(
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
    assert (now.status, now.shown_revision) == (Status.ANSWERED, now.revision)


async def test_what_is_shown_by_other_means_is_looked_at_again_when_its_time_is_over(
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


async def test_what_moves_on_while_it_is_shown_by_other_means_is_shown_when_that_is_over(
    parts: Parts,
) -> None:
    async with running(parts) as (service, shower):
        ask = await submit(service, boolean(), boolean("sure"))
        await parts.chat.until(shows(parts, ask, 1))
        await shower.wait_until_idle()
        parts.chat.later, before = 0.2, parts.chat.shows
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(lambda: parts.chat.shows == before + 1)
        parts.chat.later = 0.0
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(shows(parts, ask, 3))
    assert parts.chat.shows == before + 2


async def test_what_is_shown_by_other_means_is_not_looked_at_with_every_change_meanwhile(
    parts: Parts,
) -> None:
    async with running(parts) as (service, shower):
        ask = await submit(service, *(boolean(f"q{n}") for n in range(4)))
        await parts.chat.until(shows(parts, ask, 1))
        await shower.wait_until_idle()
        parts.chat.later, before = 0.3, parts.chat.shows
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(lambda: parts.chat.shows == before + 1)
        for _ in range(2):
            await service.act(ask.id, Answer(value=True), actor())
        parts.chat.later = 0.0
        await parts.chat.until(shows(parts, ask, 4))
    assert parts.chat.shows == before + 2


async def test_what_is_handed_on_while_it_is_shown_by_other_means_is_posted_at_once(
    parts: Parts,
) -> None:
    async with running(parts, routes=escalated("chat:C2")) as (service, shower):
        ask = await submit(service, boolean(), boolean("sure"), to=None, responders=None)
        await parts.chat.until(shows(parts, ask, 1))
        await shower.wait_until_idle()
        parts.chat.later, before = 600.0, parts.chat.shows
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(lambda: parts.chat.shows == before + 1)
        parts.chat.later = 0.0
        await hand_on(parts, service, ask)
        await parts.chat.until(lambda: parts.chat.messages[ask.id].destination.channel == "C2")


async def test_showing_an_ask_that_is_none_does_nothing(parts: Parts) -> None:
    async with running(parts) as (service, shower):
        ask = await submit(service)
        await shower.wait_until_idle()
        parts.chat.shows = 0
        shower.request_sync(replace(ask, id="ask_none"))
        await shower.wait_until_idle()
    assert parts.chat.shows == 0


async def test_an_ask_on_a_surface_that_is_not_configured_is_left_as_it_is(parts: Parts) -> None:
    ask = await submit(parts.service())
    async with running(parts, surfaces=("web",)) as (service, shower):
        shower.request_sync(ask)
        await shower.wait_until_idle()
        assert await service.get(ask.id) == ask
    assert parts.chat.shows == 0


async def test_a_note_that_cannot_be_left_is_given_up(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def moved(*_: object) -> None:
        raise UnauthorizedError("revoked")

    monkeypatch.setattr(parts.chat, "retire_message", moved)
    async with running(parts, routes=ESCALATED) as (service, shower):
        ask = await submit(service, to=None, responders=None)
        await parts.chat.until(shows(parts, ask, 1))
        await shower.wait_until_idle()
        await hand_on(parts, service, ask)
        await shower.wait_until_idle()
        now = await service.get(ask.id)
    assert now is not None
    assert (now.destination.surface, now.left) == ("web", None)


async def test_a_place_whose_surface_is_configured_no_more_is_left_without_a_note(
    parts: Parts,
) -> None:
    async with running(parts, routes=ESCALATED) as (service, shower):
        ask = await submit(service, to=None, responders=None)
        await shower.wait_until_idle()
    await parts.clock.advance(61)
    async with running(parts, routes=ESCALATED, surfaces=("web",)) as (service, shower):
        with service.follow(ask.id) as follower:
            async with asyncio.timeout(WAIT):
                while (await service.get(ask.id) or ask).destination.surface != "web":
                    await follower.next_commit()
        await shower.wait_until_idle()
        now = await service.get(ask.id)
    assert now is not None
    assert (now.left, parts.chat.notes) == (None, [])


async def test_who_leaves_takes_no_other_follower_along(parts: Parts) -> None:
    service = parts.service()
    ask = await submit(service)
    with service.follow(ask.id) as stays:
        with service.follow(ask.id):
            assert service.signals.count == 2
        await service.withdraw(ask.id)
        async with asyncio.timeout(WAIT):
            told = await stays.next_commit()
    assert told is not None
    assert (told.status, service.signals.count) == (Status.WITHDRAWN, 0)


async def test_who_follows_is_never_told_of_an_older_state_after_a_newer_one(parts: Parts) -> None:
    service = parts.service()
    ask = await submit(service, boolean("a"), boolean("b"))
    acted = await service.act(ask.id, Answer(value=True), actor())
    assert isinstance(acted, Acted)
    with service.follow(ask.id) as follower:
        service.signals.notify(acted.ask)
        service.signals.notify(ask)  # two commits of one batch, told of in another order
        assert await follower.next_commit() == acted.ask
