"""Leases of approvals: they run for a minute after the caller has gone, and only while the service runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Status
from answerback.core.errors import StoreError
from answerback.core.giving_up import GaveUp
from answerback.core.too_late import TryAgain
from answerback.ports.late_answers import SeenState
from answerback.ports.surface import Acted, Rejected, RejectReason
from answerback.service.agent_presence import CALLER, GRACE
from answerback.service.late_answers import HoldKey
from answerback.service.service import Service
from answerback.service.submission_request import read_submission
from answerback_storage.sqlite.store import SqliteStore
from tests.service_support import WAIT, actor, ask_user
from tests.unit.bot.background_support import reopen_store, running
from tests.unit.bot.conftest import Parts

LEASE, RENEWAL = CALLER.seconds, CALLER.renewal


async def submit(service: Service, **more: Any) -> Ask:
    body = {
        "name": "PermissionRequest",
        "dialect": "approval",
        "arguments": {"tool_name": "Bash", "tool_input": {"command": "touch a"}},
        "to": "chat:C1",
        "responders": "anyone",
        "leased": True,
        **more,
    }
    return (await service.submit(read_submission(body))).ask


async def now(service: Service, ask: Ask) -> Ask:
    found = await service.get(ask.id)
    assert found is not None
    return found


def gave_up(ask: Ask) -> GaveUp | None:
    return ask.outcome.gave_up if ask.outcome else None


@contextmanager
def database_away(*stores: SqliteStore) -> Iterator[None]:
    """Let everything fail that processes read and write."""

    def fail(*_: object, **__: object) -> None:
        raise StoreError("away")

    with pytest.MonkeyPatch.context() as patched:
        for store in stores:
            for method in ("read", "write"):
                patched.setattr(store.database, method, fail)
        yield


async def run_out(service: Service, ask: Ask, parts: Parts, seconds: float) -> Ask:
    """Let time pass, then do what the scheduler does when a lease has run out."""
    await parts.clock.advance(seconds)
    await service.approval_leases.end_lease(ask.id)
    return await now(service, ask)


@pytest.mark.rule("LATE-8")
async def test_an_approval_ends_a_minute_after_its_caller_has_gone(parts: Parts) -> None:
    service = parts.service()
    await parts.clock.advance(2 * LEASE)
    ask = await submit(service)
    assert ask.presence_lapses_at == ask.created_at + LEASE
    async with service.presence.track_wait(ask):
        assert (await run_out(service, ask, parts, LEASE + 1)).open, "it waits"
    assert (await run_out(service, ask, parts, LEASE - 1)).open
    ended = await run_out(service, ask, parts, 2)
    assert (ended.status, gave_up(ended)) == (Status.EXPIRED, GaveUp.GONE)
    assert not ended.attendance.agent_left


@pytest.mark.rule("LATE-8")
async def test_people_are_not_told_that_a_caller_is_away_which_ends_the_approval(
    parts: Parts,
) -> None:
    service = parts.service()
    ask = await submit(service)
    async with service.presence.track_wait(ask):
        pass
    await parts.clock.advance(GRACE + 1)
    assert await service.presence.run_once() is None
    assert await now(service, ask) == ask


@pytest.mark.rule("LATE-8")
async def test_the_scheduler_ends_it_and_leaves_questions_open(parts: Parts) -> None:
    async with running(parts) as (service, _):
        await parts.clock.advance(2 * LEASE)
        question = (await service.submit(ask_user())).ask
        ask = await submit(service)
        with service.follow(ask.id) as following:
            await parts.clock.wait_for_sleepers(1)
            await parts.clock.advance(LEASE + 1)
            async with asyncio.timeout(WAIT):
                while gave_up(await now(service, ask)) is None:
                    await following.next_commit()
        assert (await now(service, question)).open


@pytest.mark.rule("LATE-8")
async def test_a_lease_is_renewed_every_fifteen_seconds_while_somebody_waits(
    parts: Parts,
) -> None:
    service = parts.service()
    ask = await submit(service)
    renewing = asyncio.create_task(service.presence.run())
    try:
        async with service.presence.track_wait(ask), service.presence.track_wait(ask):
            for count in range(1, 4):
                await parts.clock.wait_for_sleepers(1)
                with service.follow(ask.id) as following:
                    await parts.clock.advance(RENEWAL)
                    async with asyncio.timeout(WAIT):
                        while (
                            await now(service, ask)
                        ).attendance.wait_seconds != count * RENEWAL + LEASE:
                            await following.next_commit()
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing


@pytest.mark.rule("LATE-8")
async def test_a_lease_begins_anew_when_the_service_starts(parts: Parts, tmp_path: Path) -> None:
    ask = await submit(parts.service())
    await reopen_store(parts, tmp_path)
    await parts.clock.advance(3_600)
    again = parts.service()
    assert (await run_out(again, ask, parts, 0)).open, "nobody could renew it meanwhile"
    assert (await run_out(again, ask, parts, LEASE - 1)).open
    assert gave_up(await run_out(again, ask, parts, 2)) is GaveUp.GONE


@pytest.mark.rule("LATE-8")
async def test_a_lease_begins_anew_after_the_machine_was_suspended(parts: Parts) -> None:
    service = parts.service()
    await parts.clock.advance(2 * LEASE)
    ask = await submit(service)
    await parts.clock.set(3_600)  # the clock goes on, but nothing runs
    assert (await run_out(service, ask, parts, 0)).open
    assert gave_up(await run_out(service, ask, parts, LEASE + 1)) is GaveUp.GONE


@pytest.mark.rule("LATE-8")
async def test_a_lease_that_cannot_be_renewed_while_the_database_is_away_is_renewed_later(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    await parts.clock.advance(2 * LEASE)
    ask = await submit(service)
    await parts.clock.advance(LEASE + 1)

    async def fail(*_: object, **__: object) -> None:
        raise StoreError("away")

    with monkeypatch.context() as patched:
        patched.setattr(parts.store.asks, "change", fail)
        waiting = service.presence.track_wait(ask)
        await waiting.__aenter__()
    assert (await run_out(service, ask, parts, 0)).open
    await waiting.__aexit__(None, None, None)
    renewed = await now(service, ask)
    assert renewed.presence_lapses_at == parts.clock.now() + LEASE


@pytest.mark.rule("LATE-8")
async def test_a_lease_begins_anew_after_the_database_was_away(parts: Parts) -> None:
    async with running(parts) as (service, _):
        await parts.clock.advance(10 * LEASE)
        ask = await submit(service, to="web", responders=None)
        with service.follow(ask.id) as following:
            with database_away(parts.store):
                for _ in range(5):
                    await parts.clock.wait_for_sleepers(1)
                    await parts.clock.advance(RENEWAL)
            for expected in (None, GaveUp.GONE):
                await parts.clock.wait_for_sleepers(1)
                await parts.clock.advance(1)
                async with asyncio.timeout(WAIT):
                    changed = await following.next_commit()
                assert changed is not None
                assert gave_up(changed) is expected
                await parts.clock.advance(LEASE)


@pytest.mark.rule("LATE-8")
async def test_only_an_approval_is_leased(parts: Parts) -> None:
    service = parts.service()
    assert not (await service.submit(ask_user(leased=True))).ask.request.ends_with_caller
    background = await submit(service, mode="async")
    assert (background.attendance.wait_seconds, background.attendance.agent_left) == (LEASE, False)


@pytest.mark.rule("LATE-8")
async def test_one_approval_allows_one_call(parts: Parts) -> None:
    service = parts.service()
    first = await submit(service, join="sdk")
    again = await submit(service, join="sdk")
    assert first.id != again.id


@pytest.mark.rule("LATE-9")
async def test_the_agent_can_be_told_to_try_again_within_a_day(parts: Parts) -> None:
    service = parts.service()
    first, second = await submit(service), await submit(service)
    for ask in (first, second):
        assert isinstance(await service.approval_leases.report_no_answer(ask.id), Acted)
    await parts.clock.advance(86_400)
    assert isinstance(await service.act(first.id, TryAgain(), actor()), Acted)
    await parts.clock.advance(1)
    late = await service.act(second.id, TryAgain(), actor())
    assert isinstance(late, Rejected)
    assert (late.why, late.problems[0].code) == (RejectReason.INVALID, "too_late_to_try_again")


@pytest.mark.rule("LATE-10")
async def test_trying_again_is_stored_after_a_response_that_reports_the_outcome(
    parts: Parts,
) -> None:
    service = parts.service()
    ask, other = await submit(service), await submit(service)
    assert isinstance(await service.approval_leases.report_no_answer(ask.id), Acted)
    response: HoldKey = ("", SeenState.SEEN)
    service.late_answer_tracker.hold(ask.id, response)
    trying = asyncio.create_task(service.act(ask.id, TryAgain(), actor()))
    await asyncio.sleep(0)
    assert isinstance(await service.act(other.id, Answer(value="allow"), actor()), Acted)
    assert (await now(service, ask)).retry_request is None, "a later change is stored by now"
    service.late_answer_tracker.release(ask.id, response)
    assert isinstance(await trying, Acted)


@pytest.mark.rule("LATE-7")
async def test_nothing_can_be_reported_about_an_ask_that_does_not_exist(parts: Parts) -> None:
    done = await parts.service().approval_leases.report_no_answer("ask_0")
    assert isinstance(done, Rejected)
    assert done.why is RejectReason.NOT_FOUND
