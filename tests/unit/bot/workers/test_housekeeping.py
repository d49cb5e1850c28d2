"""Deleting and erasing what is no longer kept delays no deadline and no message, however much it is, or if it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Status
from answerback.core.errors import StoreError
from answerback.runtime.app import run_service
from answerback.runtime.config import (
    RetentionSettings,
    ServerSettings,
    StorageSettings,
    settings_type,
)
from answerback.service.service import Service
from answerback.workers.retention import RetentionPolicy
from tests.service_support import WAIT, actor, boolean
from tests.unit.bot.background_support import ended, running, shows, submit
from tests.unit.bot.conftest import Parts
from tests.unit.bot.replica_support import ANN, BEN, Processes

DAY = 86_400.0
HOUR = 3_600.0


async def fail(*_: object) -> None:
    raise StoreError("damaged")


async def end(service: Service) -> Ask:
    """Return an ask that has ended."""
    ask = await submit(service, to="web")
    await service.withdraw(ask.id)
    return ask


async def count_erased(service: Service, asks: Sequence[Ask]) -> int:
    found = [await service.get(ask.id) for ask in asks]
    return sum(ask is not None and ask.erased_at is not None for ask in found)


async def pass_until_erased(
    parts: Parts, service: Service, asks: Sequence[Ask], count: int
) -> None:
    """Let time pass, a minute at most, until so many asks have been erased."""
    for _ in range(60):
        if await count_erased(service, asks) >= count:
            return
        await parts.clock.wait_for_sleepers(5)
        await parts.clock.advance(1)
    raise AssertionError(f"{count} asks are not erased within a minute")


@pytest.mark.rule("DATA-19")
async def test_deadlines_do_not_wait_until_old_asks_are_erased(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    await end(parts.service())
    await parts.clock.advance(2 * DAY)
    erasing = asyncio.Event()

    async def hang(*_: object) -> None:
        erasing.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(parts.store.erasure, "erase", hang)
    async with running(parts, days=1.0) as (service, _):
        async with asyncio.timeout(WAIT):
            await erasing.wait()
        ask = await submit(service, to="web", expires_in=5)
        await parts.clock.advance(6)
        assert (await ended(service, ask)).status is Status.EXPIRED


@pytest.mark.rule("DATA-12")
@pytest.mark.parametrize(
    ("part", "method"),
    [
        ("maintenance", "prune"),
        ("files", "prune"),
        ("files", "delete_remains"),
        ("erasure", "list_erasable"),
    ],
)
async def test_deadlines_pass_and_old_asks_are_erased_though_other_housekeeping_fails(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, part: str, method: str
) -> None:
    monkeypatch.setattr(getattr(parts.store, part), method, fail)
    async with running(parts, days=1.0) as (service, _):
        old = await end(service)
        ask = await submit(service, to="web", expires_in=5)
        await parts.clock.advance(6)
        assert (await ended(service, ask)).status is Status.EXPIRED
        if method != "list_erasable":
            await parts.clock.wait_for_sleepers(5)
            with service.follow(old.id) as follower:
                await parts.clock.advance(DAY)
                async with asyncio.timeout(WAIT):
                    erased = await follower.next_commit()
            assert erased is not None
            assert erased.erased_at == parts.clock.now()


@pytest.mark.rule("DATA-12")
@pytest.mark.parametrize("set_by", [-2 * DAY, 2 * DAY])
async def test_housekeeping_repeats_by_the_time_that_passes(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, set_by: float
) -> None:
    pruned: list[float] = []

    async def prune(_: float) -> None:
        pruned.append(parts.clock.monotonic())

    monkeypatch.setattr(parts.store.maintenance, "prune", prune)
    async with running(parts, days=1.0):
        await parts.clock.wait_for_sleepers(5)
        await parts.clock.set(set_by)
        await parts.clock.wait_for_sleepers(5)
        await parts.clock.advance(HOUR - 1)
        await parts.clock.wait_for_sleepers(5)
        await parts.clock.advance(1)
        await parts.clock.wait_for_sleepers(5)
    first, second = pruned
    assert second - first == HOUR


@pytest.mark.rule("DATA-19")
async def test_while_many_messages_wait_to_be_shown_few_asks_are_erased(parts: Parts) -> None:
    async with running(parts) as (service, sync):
        old = [await submit(service) for _ in range(12)]
        await sync.wait_until_idle()
        for ask in old:
            await service.withdraw(ask.id)
        await parts.clock.advance(2 * DAY)
        current = await submit(service, boolean("a"), boolean("b"))
        await sync.wait_until_idle()
    parts.chat.hold, before = asyncio.Event(), parts.chat.shows
    async with running(parts, days=1.0, concurrent=6) as (service, sync):
        await parts.chat.until(lambda: parts.chat.shows == before + 3)
        await parts.clock.wait_for_sleepers(5)
        assert await count_erased(service, old) == sync.pending_count == 3
        await service.act(current.id, Answer(value=True), actor())
        await parts.chat.until(lambda: parts.chat.shows == before + 4)
        # A platform that is down keeps nothing in the database for ever.
        await pass_until_erased(parts, service, old, 4)
        parts.chat.hold.set()
        await parts.chat.until(shows(parts, current, 2))
        await pass_until_erased(parts, service, old, len(old))


@pytest.mark.rule("DATA-19")
async def test_one_process_at_a_time_erases_old_asks(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = Processes(parts.store)
    ann, ben = (processes.start(claim)[0] for claim in (ANN, BEN))
    old = await end(ann)
    await processes.clock.advance(2 * DAY)
    erase, erasing, go_on = parts.store.erasure.erase, asyncio.Event(), asyncio.Event()

    async def erase_slowly(*args: Any) -> Ask | None:
        erasing.set()
        await go_on.wait()
        return await erase(*args)

    with monkeypatch.context() as patched:
        patched.setattr(parts.store.erasure, "erase", erase_slowly)
        first = asyncio.create_task(RetentionPolicy(ann, 1.0, None).enforce(processes.clock.now()))
        async with asyncio.timeout(WAIT):
            await erasing.wait()
        patched.setattr(parts.store.erasure, "erase", fail)
        await RetentionPolicy(ben, 1.0, None).enforce(processes.clock.now())
        go_on.set()
        await first
    assert await count_erased(ben, [old]) == 1


@pytest.mark.rule("DATA-19")
async def test_the_service_erases_old_asks_when_it_starts(
    tmp_path: Path,
) -> None:
    settings = settings_type().model_construct(
        server=ServerSettings(port=0),
        storage=StorageSettings(url=f"sqlite:///{tmp_path}/asks.db"),
        retention=RetentionSettings(days=1e-9),
    )
    async with run_service(settings) as up:
        old = await end(up.service)
    async with run_service(settings) as up:
        with up.service.follow(old.id) as follower:
            if not await count_erased(up.service, [old]):
                async with asyncio.timeout(WAIT):
                    await follower.next_commit()
        assert await count_erased(up.service, [old]) == 1
