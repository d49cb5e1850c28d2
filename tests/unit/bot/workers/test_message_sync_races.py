"""Showing an ask while it changes, moves or looks different: what is shown last is what is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import pytest
from pydantic import JsonValue

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Change, Destination, Status
from answerback.core.errors import (
    DestinationGoneError,
    PlatformUnavailableError,
    RateLimitedError,
    StoreError,
    UnauthorizedError,
)
from answerback.ports.claims import Claim
from answerback.ports.surface import RetryLater, Shown
from answerback.workers import late_edits
from answerback.workers.message_sync import MessageSync
from tests.service_support import WAIT, actor, boolean
from tests.unit.bot.background_support import (
    escalating_routes,
    running,
    shows,
    submit,
    wait_for_escalation,
)
from tests.unit.bot.conftest import Parts

ESCALATED = escalating_routes("chat:C2")


async def test_a_request_at_the_moment_showing_ends_leads_to_another_show(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    sync = MessageSync(service)
    looks: list[asyncio.Future[Ask | None]] = []
    looked = asyncio.Condition()

    async def claim(_ask_id: str, _claim: Claim) -> Ask | None:
        async with looked:
            looks.append(asyncio.get_running_loop().create_future())
            looked.notify_all()
        return await looks[-1]

    async def until_looked(times: int) -> None:
        async with asyncio.timeout(WAIT), looked:
            await looked.wait_for(lambda: len(looks) >= times)

    async def commit() -> None:
        await looks[0]  # committed in the same loop iteration as the last read, and after it
        sync.request_sync(ask)

    monkeypatch.setattr(parts.store.claims, "claim_message", claim)
    ask = await submit(service)
    await until_looked(1)
    committing = asyncio.create_task(commit())
    await asyncio.sleep(0)
    looks[0].set_result(None)
    await committing
    await until_looked(2)
    looks[1].set_result(None)
    await sync.wait_until_idle()
    assert len(looks) == 2


async def test_a_commit_after_the_stop_is_left_to_the_next_start(parts: Parts) -> None:
    service = parts.service()
    sync = MessageSync(service)
    assert await sync.stop()
    ask = await submit(service)
    assert sync.pending_count == 0
    following = MessageSync(service)
    await following.sweep(1)
    await following.wait_until_idle()
    assert parts.chat.messages.keys() == {ask.id}
    await following.stop()


async def test_a_message_whose_ask_changes_during_an_edit_is_edited_again_after_a_pause(
    parts: Parts,
) -> None:
    async with running(parts) as (service, sync):
        ask = await submit(service, *map(boolean, "abcd"))
        await parts.chat.until(shows(parts, ask, 1))
        await sync.wait_until_idle()
        parts.chat.hold = asyncio.Event()
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(lambda: parts.chat.shows == 2)
        await service.act(ask.id, Answer(value=True), actor())
        released = asyncio.get_running_loop().time()
        parts.chat.hold.set()
        await parts.chat.until(shows(parts, ask, 2))
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(shows(parts, ask, 4))
        assert asyncio.get_running_loop().time() - released > 0.9
        await sync.wait_until_idle()
    assert parts.chat.shows == 3, "changes made in the pause are shown together"


async def test_an_action_between_an_edit_and_its_note_is_shown_at_once(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(parts, outrun=3_600.0) as (service, sync):
        ask = await submit(service, *map(boolean, "abc"))
        await parts.chat.until(shows(parts, ask, 1))
        await sync.wait_until_idle()
        original = service.store.asks.save_shown

        async def note(ask_id: str, shown: Shown, of: Ask | None = None) -> Ask | None:
            if shown.revision == 2:
                await service.act(ask.id, Answer(value=True), actor())
            return await original(ask_id, shown, of)

        monkeypatch.setattr(service.store.asks, "save_shown", note)
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(shows(parts, ask, 3))
        await sync.wait_until_idle()


async def test_an_ask_whose_appearance_changes_at_the_same_revision_is_shown_again(
    parts: Parts,
) -> None:
    parts.chat.hold = asyncio.Event()

    def nobody_waits(ask: Ask, _at: float) -> Change | None:
        return Change(
            replace(
                ask,
                attendance=replace(ask.attendance, agent_left=True),
                placement=replace(ask.placement, shown_revision=ask.revision - 1),
            ),
            (),
        )

    async with running(parts) as (service, sync):
        ask = await submit(service)
        await parts.chat.until(lambda: parts.chat.shows == 1)
        await service.update(ask.id, nobody_waits)
        parts.chat.hold.set()
        await parts.chat.until(shows(parts, ask, 1))
        await sync.wait_until_idle()
    assert parts.chat.messages[ask.id].attendance.agent_left
    assert await parts.store.messages.list_outdated(10) == []


async def test_a_place_that_is_gone_does_not_fail_an_ask_that_was_escalated_meanwhile(
    parts: Parts,
) -> None:
    parts.chat.hold = asyncio.Event()
    parts.chat.failures.append(DestinationGoneError("The channel is archived."))
    async with running(parts, routes=ESCALATED) as (service, sync):
        ask = await submit(service, to=None, responders=None)
        await parts.chat.until(lambda: parts.chat.shows == 1)
        await wait_for_escalation(parts, service, ask)
        parts.chat.hold.set()
        await parts.chat.until(shows(parts, ask, 2))
        await sync.wait_until_idle()
        now = await service.get(ask.id)
    assert now is not None
    assert (now.open, now.placement.destination.channel, now.placement.message is None) == (
        True,
        "C2",
        False,
    )


async def test_an_escalated_ask_is_shown_at_its_new_place_while_the_old_one_is_down(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved, down = parts.chat.retire_message, True

    async def moved_once_up(ask: Ask, left: Mapping[str, JsonValue], to: Destination) -> None:
        if down:
            raise PlatformUnavailableError("503")
        await moved(ask, left, to)

    monkeypatch.setattr(parts.chat, "retire_message", moved_once_up)
    async with running(parts, routes=ESCALATED) as (service, sync):
        ask = await submit(service, boolean("a"), boolean("b"), to=None, responders=None)
        await sync.wait_until_idle()
        await parts.clock.advance(61)
        await parts.chat.until(shows(parts, ask, 2))
        assert parts.chat.messages[ask.id].placement.destination.channel == "C2"
        await sync.wait_until_idle()
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(shows(parts, ask, 3))
        await sync.wait_until_idle()
        assert await parts.store.messages.list_outdated(10) == [ask.id], (
            "the next start finds the message left behind"
        )
        down = False
        await parts.clock.advance(61)
        await parts.chat.until(lambda: [to.channel for _, to in parts.chat.notes] == ["C2"])
        await sync.wait_until_idle()
        now = await service.get(ask.id)
    assert now is not None
    assert (now.to_retire, now.placement.shown_revision, parts.chat.posts) == (None, 3, 2)
    assert await parts.store.messages.list_outdated(10) == []


async def test_when_an_ask_is_escalated_a_failure_at_either_place_is_retried(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(parts, routes=ESCALATED) as (service, sync):
        ask = await submit(service, to=None, responders=None)
        await sync.wait_until_idle()
        original, failures = service.save_retired, [StoreError("The disk is full.")] * 2

        async def left(ask: Ask, at: float | None) -> None:
            if failures:
                raise failures.pop()
            await original(ask, at)

        monkeypatch.setattr(service, "save_retired", left)
        parts.chat.failures.append(PlatformUnavailableError("503"))
        await parts.clock.advance(61)
        await parts.chat.until(shows(parts, ask, 2))
        await sync.wait_until_idle()
        parts.timers.run_all()
        await sync.wait_until_idle()
        now = await service.get(ask.id)
    assert now is not None
    assert (now.to_retire, now.placement.shown_revision, parts.chat.posts, failures) == (
        None,
        2,
        2,
        [],
    )


async def test_an_action_while_the_platform_refuses_the_app_is_retried_at_once(
    parts: Parts,
) -> None:
    async with running(parts) as (service, sync):
        ask = await submit(service, *map(boolean, "abc"))
        await sync.wait_until_idle()
        parts.chat.hold = asyncio.Event()
        parts.chat.failures.append(UnauthorizedError("revoked"))
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(lambda: parts.chat.shows == 2)
        await service.act(ask.id, Answer(value=True), actor())
        parts.chat.hold.set()
        await parts.chat.until(shows(parts, ask, 3))
        await sync.wait_until_idle()
    assert await parts.store.messages.list_outdated(10) == []


@pytest.mark.rule("CLAIM-4", "DATA-7")
async def test_after_edits_of_unknown_outcome_a_message_is_shown_once_more_and_the_log_stays_short(
    parts: Parts, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(parts) as (service, sync):
        asks = [await submit(service, boolean("a"), boolean("b")) for _ in range(5)]
        await sync.wait_until_idle()
        shows = parts.chat.shows
        parts.chat.failures = [PlatformUnavailableError("no answer") for _ in range(20)]
        for ask in asks:
            await service.act(ask.id, Answer(value=True), actor())
        await sync.wait_until_idle()
        assert parts.chat.shows == shows + 20 + 5
        parts.timers.run_all()
        await sync.wait_until_idle()
        assert parts.chat.shows == shows + 20 + 5 + 5
    warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert [each.partition(" again")[0] for each in warnings] == [
        "chat cannot be reached; retrying with growing pauses: no answer",
        "chat can be reached",
    ]


@pytest.mark.rule("CLAIM-4", "DATA-7")
async def test_an_edit_that_hangs_is_abandoned_and_its_message_is_shown_once_more(
    parts: Parts,
) -> None:
    async with running(parts, show_timeout=0.2) as (service, sync):
        ask = await submit(service, boolean("a"), boolean("b"))
        await sync.wait_until_idle()
        parts.chat.hold = asyncio.Event()
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(lambda: parts.chat.shows == 3)
        parts.chat.hold.set()
        await parts.chat.until(shows(parts, ask, 2))
        await sync.wait_until_idle()
        before = parts.chat.shows
        parts.timers.run_all()
        await sync.wait_until_idle()
        assert parts.chat.shows == before + 1


@pytest.mark.rule("DATA-8")
async def test_there_is_a_bound_to_the_messages_that_are_shown_once_more(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_edits, "MAX_QUEUED", 0)
    async with running(parts) as (service, sync):
        ask = await submit(service, boolean("a"), boolean("b"))
        await sync.wait_until_idle()
        parts.chat.failures = [PlatformUnavailableError("no answer")]
        await service.act(ask.id, Answer(value=True), actor())
        await sync.wait_until_idle()
        assert len(sync._late_edits) == 0


@pytest.mark.rule("SURFACE-13")
async def test_the_message_that_an_escalated_ask_left_waits_only_for_its_rate_limit(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved, limits = parts.chat.retire_message, [RateLimitedError("429", retry_after=0.05)]

    async def limited_once(ask: Ask, left: Mapping[str, JsonValue], to: Destination) -> None:
        if limits:
            raise limits.pop()
        await moved(ask, left, to)

    monkeypatch.setattr(parts.chat, "retire_message", limited_once)
    async with running(parts, routes=ESCALATED) as (service, sync):
        ask = await submit(service, to=None, responders=None)
        await sync.wait_until_idle()
        await parts.clock.advance(61)
        await parts.chat.until(lambda: bool(parts.chat.notes))
        await sync.wait_until_idle()
        assert await parts.store.messages.list_outdated(10) == []
        now = await service.get(ask.id)
    assert now is not None
    assert now.to_retire is None


@pytest.mark.rule("PLACE-2")
async def test_a_place_that_is_found_to_be_gone_fails_all_of_its_asks(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    shows_elsewhere = parts.chat.show

    async def gone(ask: Ask, save: Callable[[Shown], Awaitable[None]]) -> Shown | RetryLater:
        if closed and ask.placement.destination.channel == "C1":
            raise DestinationGoneError("archived")
        return await shows_elsewhere(ask, save)

    closed = False
    monkeypatch.setattr(parts.chat, "show", gone)
    async with running(parts, second_look=0.05) as (service, sync):
        asks = [await submit(service, boolean("a"), boolean("b")) for _ in range(3)]
        other = await submit(service, boolean("a"), boolean("b"), to="chat:C9")
        await sync.wait_until_idle()
        closed = True
        await service.act(asks[0].id, Answer(value=True), actor())
        for ask in asks:
            ended = await service.wait(ask.id, WAIT)
            assert ended is not None
            assert ended.status is Status.FAILED
        await sync.wait_until_idle()
        still = await service.get(other.id)
    assert still is not None
    assert still.open


@pytest.mark.rule("PLACE-2")
async def test_a_place_whose_id_changes_during_an_edit_fails_no_ask(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(parts, second_look=0.05) as (service, sync):
        ask = await submit(service, boolean("a"), boolean("b"))
        await sync.wait_until_idle()
        parts.chat.failures = [DestinationGoneError("channel_not_found")]
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(shows(parts, ask, 2))
        await sync.wait_until_idle()
        now = await service.get(ask.id)
    assert now is not None
    assert now.open
