"""Background work: live messages follow the stored ask, and deadlines are met, even across restarts."""

from __future__ import annotations

import asyncio
from unittest.mock import AsyncMock

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Reason, Status
from answerback.core.errors import (
    DestinationGoneError,
    ForbiddenError,
    PayloadRejectedError,
    PlatformUnavailableError,
    RateLimitedError,
    UnauthorizedError,
)
from answerback.ports.surface import Acted
from answerback.service.submission_request import Route, Routes
from answerback.workers.late_edits import LATE_SECONDS
from tests.service_support import actor, ask_user, boolean
from tests.unit.bot.background_support import (
    ScriptedInquiry,
    ended,
    inquiry_rules,
    running,
    shows,
    submit,
    wait_for_escalation,
)
from tests.unit.bot.conftest import Parts


@pytest.mark.rule("SURFACE-1")
async def test_one_message_is_posted_and_follows_every_step_to_the_record(parts: Parts) -> None:
    async with running(parts) as (service, sync):
        ask = await submit(service, boolean("a"), boolean("b"))
        await parts.chat.until(shows(parts, ask, 1))
        for revision in (2, 3):
            await service.act(ask.id, Answer(value=True), actor())
            await parts.chat.until(shows(parts, ask, revision))
        await sync.wait_until_idle()
        stored = await service.get(ask.id)
    assert parts.chat.posts == 1
    assert stored is not None
    assert (
        stored.placement.shown_revision,
        stored.placement.thread and stored.placement.thread.url,
    ) == (
        3,
        "https://chat.example/1",
    )


async def test_a_step_is_shown_with_one_read_of_the_store(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(parts) as (service, sync):
        ask = await submit(service, boolean("a"), boolean("b"))
        await parts.chat.until(shows(parts, ask, 1))
        await sync.wait_until_idle()
        looked = AsyncMock(wraps=service.store.claims.claim_message)
        monkeypatch.setattr(service.store.claims, "claim_message", looked)
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(shows(parts, ask, 2))
        await sync.wait_until_idle()
    assert looked.await_count == 1


@pytest.mark.rule("SURFACE-1")
async def test_steps_during_a_slow_show_are_shown_as_one(parts: Parts) -> None:
    parts.chat.hold = asyncio.Event()
    async with running(parts) as (service, sync):
        ask = await submit(service, *map(boolean, "abcd"))
        await parts.chat.until(lambda: parts.chat.shows == 1)
        for _ in range(3):
            await service.act(ask.id, Answer(value=True), actor())
        parts.chat.hold.set()
        await parts.chat.until(shows(parts, ask, 4))
        await sync.wait_until_idle()
    assert parts.chat.shows == 2


@pytest.mark.rule("DATA-7")
async def test_a_platform_that_fails_for_a_while_is_retried_until_it_shows(parts: Parts) -> None:
    parts.chat.failures += [
        PlatformUnavailableError("500"),
        RateLimitedError("slow down", retry_after=0.01),
        PlatformUnavailableError("lost"),
    ]
    async with running(parts) as (service, sync):
        ask = await submit(service)
        await parts.chat.until(shows(parts, ask, 1))
        assert sync.show_counts[("chat", "unavailable")] == 2
        assert sync.show_counts[("chat", "limited")] == 1


async def test_a_place_that_is_gone_fails_the_ask_with_a_message_for_the_model(
    parts: Parts,
) -> None:
    for error in (
        DestinationGoneError("The channel is archived.", code="is_archived"),
        PayloadRejectedError("refused"),
        UnauthorizedError("revoked"),
    ):
        parts.chat.failures.append(error)
        async with running(parts) as (service, sync):
            done = await ended(service, await submit(service))
            await sync.wait_until_idle()
            assert done.outcome is not None
            assert (done.status, done.outcome.reason) == (Status.FAILED, Reason.BACKEND_ERROR)
            assert str(error) in (done.outcome.message or "")
            assert await parts.store.messages.list_outdated(10) == []


async def test_revoked_credentials_in_mid_form_leave_the_ask_open_until_they_are_fixed(
    parts: Parts,
) -> None:
    async with running(parts) as (service, sync):
        # Without a waiting agent: its departure would be shown as well.
        callback = {"url": "http://127.0.0.1:9/answers"}
        ask = await submit(service, *map(boolean, "abcd"), callback=callback)
        await sync.wait_until_idle()
        parts.chat.failures.append(UnauthorizedError("revoked"))
        acted = await service.act(ask.id, Answer(value=True), actor())
        await sync.wait_until_idle()
        assert isinstance(acted, Acted)
        assert acted.ask.open
        await sync.sweep(10)
        await sync.wait_until_idle()
        assert parts.chat.shows == 2, "nobody fixes credentials in a moment"
        await parts.clock.advance(601)
        await parts.chat.until(shows(parts, ask, 2))
        await sync.wait_until_idle()
        parts.chat.failures.append(UnauthorizedError("revoked again"))
        for revision in (3, 4):
            await service.act(ask.id, Answer(value=True), actor())
            await sync.wait_until_idle()
            assert shows(parts, ask, revision)() is (revision == 4), "the next change retries it"
        assert await parts.store.messages.list_outdated(10) == []


async def test_showing_a_record_is_abandoned_when_forbidden_but_not_for_lack_of_credentials(
    parts: Parts, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(parts) as (service, sync):
        asks = [await submit(service) for _ in range(2)]
        await sync.wait_until_idle()
        for ask, error in zip(
            asks, (ForbiddenError("no permission"), UnauthorizedError("revoked")), strict=True
        ):
            parts.chat.failures.append(error)
            await service.withdraw(ask.id)
            await sync.wait_until_idle()
        assert "An ask cannot be shown: no permission" in caplog.text
        assert await parts.store.messages.list_outdated(10) == [asks[1].id]
        await parts.clock.advance(601)
        await parts.chat.until(shows(parts, asks[1], 2))


@pytest.mark.rule("DATA-2")
async def test_changes_not_shown_before_a_stop_are_shown_after_the_start(parts: Parts) -> None:
    async with running(parts) as (service, sync):
        ask = await submit(service, boolean("a"), boolean("b"))
        await sync.wait_until_idle()
    await service.act(ask.id, Answer(value=True), actor())  # committed, then the process died
    async with running(parts):
        await parts.chat.until(shows(parts, ask, 2))
    assert parts.chat.posts == 1


async def test_a_second_stop_waits_for_nothing(parts: Parts) -> None:
    async with running(parts) as (service, sync):
        await submit(service)
        assert await sync.stop()
        assert await sync.stop(grace=0)


async def test_an_ask_that_ended_before_it_was_posted_is_never_posted(parts: Parts) -> None:
    parts.chat.failures += [PlatformUnavailableError("down")] * 1_000
    async with running(parts) as (service, sync):
        ask = await submit(service)
        await parts.chat.until(lambda: len(parts.chat.failures) < 1_000)
        await service.withdraw(ask.id)
        parts.chat.failures.clear()
        await sync.wait_until_idle()
    assert parts.chat.posts == 0
    assert await parts.store.messages.list_outdated(10) == []


async def test_an_ask_expires_when_its_time_is_up_and_not_before(parts: Parts) -> None:
    async with running(parts) as (service, _):
        ask = await submit(service, expires_in=60)
        later = await submit(service, expires_in=600)
        await parts.clock.advance(59)
        still = await service.get(ask.id)
        assert still is not None
        assert still.open
        await parts.clock.advance(2)
        assert (await ended(service, ask)).status is Status.EXPIRED
        other = await service.get(later.id)
        assert other is not None
        assert other.open


async def test_a_deadline_that_passed_while_the_process_was_down_is_handled_at_the_start(
    parts: Parts,
) -> None:
    async with running(parts) as (service, _):
        ask = await submit(service, expires_in=60)
    await parts.clock.advance(3_600)
    async with running(parts) as (service, _):
        assert (await ended(service, ask)).status is Status.EXPIRED


@pytest.mark.rule("SUBMIT-13")
async def test_each_reminder_is_sent_once_even_across_a_restart(parts: Parts) -> None:
    async with running(parts) as (service, sync):
        ask = await submit(service, remind_after=[10, 20, 30])
        await sync.wait_until_idle()
        await parts.clock.advance(11)
        await parts.chat.until(lambda: parts.chat.reminders == [(ask.id, 0)])
    async with running(parts) as (service, _):
        await parts.clock.advance(10)
        await parts.chat.until(lambda: len(parts.chat.reminders) == 2)
        await service.act(ask.id, Answer(value=True), actor())
        await parts.clock.advance(100)
    assert parts.chat.reminders == [(ask.id, 0), (ask.id, 1)]


@pytest.mark.rule("SUBMIT-13")
async def test_a_reminder_that_a_process_may_have_sent_before_it_died_is_looked_for_once_it_must_be_there(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries, was_tried = list[float](), asyncio.Event()

    async def remind(*_: object) -> None:
        tries.append(parts.clock.now())
        was_tried.set()
        if len(tries) == 1:
            await asyncio.Event().wait()  # the platform has not answered yet

    monkeypatch.setattr(parts.chat, "remind", remind)
    async with running(parts) as (service, sync):
        await submit(service, remind_after=[10])
        await sync.wait_until_idle()
        await parts.clock.advance(11)
        await was_tried.wait()
    was_tried.clear()
    began = parts.clock.now()
    async with running(parts):
        await parts.clock.advance(LATE_SECONDS + 1)
        await was_tried.wait()
    assert len(tries) == 2
    assert tries[1] - began >= LATE_SECONDS


@pytest.mark.rule("SUBMIT-13")
async def test_a_failed_reminder_is_retried_and_an_impossible_one_is_abandoned(
    parts: Parts,
) -> None:
    async with running(parts) as (service, sync):
        ask = await submit(service, remind_after=[10, 100])
        await sync.wait_until_idle()
        parts.chat.failures.append(RateLimitedError("wait", retry_after=5))
        await parts.clock.advance(11)
        await parts.chat.until(lambda: not parts.chat.failures)
        await parts.clock.advance(6)
        await parts.chat.until(lambda: parts.chat.reminders == [(ask.id, 0)])
        parts.chat.failures.append(DestinationGoneError("archived"))
        await parts.clock.advance(90)
        await parts.chat.until(lambda: not parts.chat.failures)


@pytest.mark.rule("SURFACE-14", "ROUTE-6")
async def test_an_unanswered_ask_is_escalated_and_leaves_a_note(parts: Parts) -> None:
    escalate = {"after": 60, "to": "chat:C2", "responders": ["BOSS"]}
    route = Route.model_validate({"to": "chat:C1", "responders": ["U1"], "escalate": escalate})
    async with running(parts, routes=Routes("ops", {"ops": route})) as (service, sync):
        ask = await submit(service, to=None, responders=None)
        await sync.wait_until_idle()
        await parts.clock.advance(61)
        await parts.chat.until(shows(parts, ask, 2))
        await sync.wait_until_idle()
        now = await service.get(ask.id)
        assert now is not None
        assert (now.placement.destination.channel, now.placement.responders, now.to_retire) == (
            "C2",
            ("BOSS",),
            None,
        )
        assert [note[0] for note in parts.chat.notes] == [ask.id]
        assert not isinstance(await service.act(ask.id, Answer(value=True), actor("U1")), Acted)
        assert isinstance(await service.act(ask.id, Answer(value=True), actor("BOSS")), Acted)
    assert parts.chat.posts == 2


async def test_a_message_being_posted_during_the_escalation_becomes_a_note(
    parts: Parts,
) -> None:
    parts.chat.hold = asyncio.Event()
    route = Route.model_validate(
        {"to": "chat:C1", "responders": ["U1"], "escalate": {"after": 60, "to": "chat:C2"}}
    )
    async with running(parts, routes=Routes("ops", {"ops": route})) as (service, sync):
        ask = await submit(service, to=None, responders=None)
        await parts.chat.until(lambda: parts.chat.shows == 1)
        await wait_for_escalation(parts, service, ask)
        parts.chat.hold.set()
        await parts.chat.until(shows(parts, ask, 2))
        await sync.wait_until_idle()
    assert [to.channel for _, to in parts.chat.notes] == ["C2"]
    assert parts.chat.messages[ask.id].placement.destination.channel == "C2"


@pytest.mark.rule("ROUTE-6")
async def test_escalation_without_a_place_lets_more_people_act(parts: Parts) -> None:
    route = Route.model_validate(
        {"to": "chat:C1", "responders": ["U1"], "escalate": {"after": 60, "responders": ["U2"]}}
    )
    async with running(parts, routes=Routes("ops", {"ops": route})) as (service, sync):
        ask = await submit(service, to=None, responders=None)
        await sync.wait_until_idle()
        await parts.clock.advance(61)
        await parts.chat.until(shows(parts, ask, 2))
        assert isinstance(await service.act(ask.id, Answer(value=True), actor("U2")), Acted)
    assert parts.chat.posts == 1


@pytest.mark.rule("ROUTE-2", "ROUTE-3")
async def test_the_inquiry_backend_answers_questions_that_need_no_person(parts: Parts) -> None:
    rules, call = inquiry_rules()
    inquiry = ScriptedInquiry(answer=True)
    async with running(parts, rules, inquiry) as (service, _):
        done = await ended(service, (await service.submit(ask_user().model_copy(update=call))).ask)
    assert done.outcome is not None
    assert (done.status, done.outcome.source, done.outcome.ended_by) == (
        Status.ANSWERED,
        "inquiry",
        None,
    )
    assert (inquiry.asked, parts.chat.posts) == (["force"], 0)


@pytest.mark.rule("ROUTE-2", "ROUTE-3")
async def test_a_failure_or_invalid_answer_of_the_inquiry_backend_fails_the_ask(
    parts: Parts,
) -> None:
    rules, call = inquiry_rules()
    for inquiry in (ScriptedInquiry(error="It is down."), ScriptedInquiry(answer="perhaps")):
        async with running(parts, rules, inquiry) as (service, _):
            done = await ended(
                service, (await service.submit(ask_user().model_copy(update=call))).ask
            )
        assert done.outcome is not None
        assert (done.status, done.outcome.reason) == (Status.FAILED, Reason.BACKEND_ERROR)
        assert "Do not retry" in (done.outcome.message or "")


async def test_an_inquiry_cancelled_by_a_stop_is_repeated_after_the_start(parts: Parts) -> None:
    rules, call = inquiry_rules()
    service = parts.service(rules, inquiry=True)
    ask = (await service.submit(ask_user().model_copy(update=call))).ask
    assert ask.schedule.awaits_inquiry
    async with running(parts, rules, ScriptedInquiry(answer=False)) as (service, _):
        assert (await ended(service, ask)).status is Status.ANSWERED


async def test_a_defect_in_showing_one_ask_is_logged_and_leaves_the_others_alone(
    parts: Parts, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(parts) as (service, _):
        parts.chat.failures.append(RuntimeError("a renderer broke"))
        broken = await submit(service)
        await parts.chat.until(lambda: not parts.chat.failures)
        fine = await submit(service)
        await parts.chat.until(shows(parts, fine, 1))
        assert broken.id not in parts.chat.messages
    (logged,) = [record for record in caplog.records if record.message == "Showing failed"]
    assert (vars(logged)["ask_id"], logged.exc_info is not None) == (broken.id, True)


async def test_an_ask_on_a_removed_surface_waits_until_it_is_configured_again(
    parts: Parts,
) -> None:
    async with running(parts) as (service, sync):
        ask = await submit(service, boolean("a"), boolean("b"), remind_after=[10])
        await sync.wait_until_idle()
    await service.act(ask.id, Answer(value=True), actor())
    async with running(parts, surfaces=("web",)) as (_, sync):
        await parts.clock.advance(11)
        await sync.wait_until_idle()
    async with running(parts):
        await parts.chat.until(shows(parts, ask, 2))
        await parts.clock.advance(
            LATE_SECONDS + 1
        )  # the process before it may have sent the reminder
        await parts.chat.until(lambda: parts.chat.reminders == [(ask.id, 0)])


async def test_an_inquiry_whose_backend_was_removed_fails_with_an_explanation(parts: Parts) -> None:
    rules, call = inquiry_rules()
    ask = (await parts.service(rules, inquiry=True).submit(ask_user().model_copy(update=call))).ask
    async with running(parts, rules) as (service, _):
        done = await ended(service, ask)
    assert done.outcome is not None
    assert "inquiry.url" in (done.outcome.message or "")
