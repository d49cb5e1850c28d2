"""Deliveries that are acknowledged and not decided yet: which process decides each, and that none is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from pydantic import JsonValue

from answerback.core.errors import StoreError
from answerback_chat.pending_deliveries import PendingDeliveries

LEASE = 10.0


class Drafts:
    """Drafts in memory."""

    def __init__(self) -> None:
        self.stored: dict[str, JsonValue] = {}

        self.unavailable = False

    async def draft(self, key: str) -> JsonValue:
        self._check()
        return self.stored.get(key)

    async def save_draft(self, key: str, value: JsonValue) -> None:
        self._check()
        self.stored[key] = value

    def _check(self) -> None:
        if self.unavailable:
            raise StoreError("the database is away")

    async def change_draft(self, key: str, change: Callable[[JsonValue], JsonValue]) -> JsonValue:
        self._check()
        self.stored[key] = change(self.stored.get(key))
        return self.stored[key]


class Processes:
    """Processes with the same drafts, and a clock."""

    def __init__(self) -> None:
        self.drafts = Drafts()
        self.now = 0.0
        self.looked = asyncio.Event()
        """Set once a process has looked for what it can take over."""

    async def stay(self, _seconds: float) -> None:
        """Wait for ever."""
        self.looked.set()
        await asyncio.Event().wait()

    async def taken_over(self, process: PendingDeliveries) -> list[tuple[str, JsonValue]]:
        """Return what a process takes over at the moment."""
        taken: list[tuple[str, JsonValue]] = []
        self.looked.clear()
        process.resume(lambda key, payload: taken.append((key, payload)))
        await self.looked.wait()
        await process.stop()
        return taken

    def start(
        self,
        *,
        is_alone: bool = False,
        sleep: Callable[[float], Awaitable[object]] | None = None,
    ) -> PendingDeliveries:
        return PendingDeliveries(
            cast("Any", self.drafts),
            "chat",
            lambda: self.now,
            LEASE,
            is_alone=is_alone,
            sleep=sleep or self.stay,
        )

    def kept(self) -> dict[str, JsonValue]:
        return {key: value for key, value in self.drafts.stored.items() if value is not None}


async def keep(process: PendingDeliveries, key: str) -> None:
    await process.change(key, lambda _: {"sent": key})


async def nothing() -> None:
    """The work of a delivery that needs none."""


@pytest.mark.rule("FILE-23", "FILE-24", "FILE-25")
async def test_a_delivery_belongs_to_one_process_until_its_lease_ends() -> None:
    processes = Processes()
    one, two, three = (processes.start() for _ in range(3))
    await keep(one, "a")
    processes.now = 4.0
    await keep(one, "b")
    await keep(two, "c")
    assert await processes.taken_over(two) == []
    processes.now = 12.0
    assert await processes.taken_over(two) == [("a", {"sent": "a"})]
    assert await processes.taken_over(three) == []
    assert await processes.taken_over(one) == [], "it may be deciding that still"
    for key in "abc":
        await one.decide(key, nothing)
    assert processes.kept() == {}


@pytest.mark.rule("FILE-23", "FILE-24", "FILE-25")
async def test_a_process_that_is_alone_takes_over_at_once_and_nothing_of_what_was_erased() -> None:
    processes = Processes()
    died = processes.start(is_alone=True)
    await keep(died, "ask_1:a")
    await keep(died, "ask_2:b")
    await processes.drafts.save_draft("chat:files:ask_2:b", None)  # as an erasure does
    alone = processes.start(is_alone=True)
    assert await processes.taken_over(alone) == [("ask_1:a", {"sent": "ask_1:a"})]
    await alone.decide("ask_1:a", nothing)
    assert processes.kept() == {}


@pytest.mark.rule("FILE-23", "FILE-24", "FILE-25")
@pytest.mark.parametrize("is_alone", [True, False])
async def test_a_process_takes_what_it_failed_to_decide_again(is_alone: bool) -> None:
    async def fail() -> None:
        raise StoreError("locked")

    processes = Processes()
    process = processes.start(is_alone=is_alone)
    await keep(process, "a")
    with pytest.raises(StoreError):
        await process.decide("a", fail)
    assert await processes.taken_over(process) == [], "for as long as others leave it alone"
    processes.now += LEASE
    assert await processes.taken_over(process) == [("a", {"sent": "a"})]
    assert await processes.taken_over(process) == []


@pytest.mark.rule("FILE-23", "FILE-24", "FILE-25")
async def test_a_process_takes_what_it_never_began_to_decide() -> None:
    processes = Processes()
    process = processes.start(is_alone=True)
    await keep(process, "a")
    processes.now += LEASE
    assert await processes.taken_over(process) == [("a", {"sent": "a"})]


@pytest.mark.rule("FILE-23", "FILE-24", "FILE-25")
async def test_what_was_not_decided_in_an_outage_of_the_database_is_decided_after_it() -> None:
    processes, slept = Processes(), list[float]()
    taken = asyncio.Queue[str]()

    async def pass_time(seconds: float) -> None:
        slept.append(seconds)
        processes.now += seconds
        processes.drafts.unavailable = 1 <= len(slept) <= 20
        if len(slept) > 60:
            await asyncio.Event().wait()
        await asyncio.sleep(0)

    process = processes.start(sleep=pass_time)
    await keep(process, "a")
    process.resume(lambda key, _payload: taken.put_nowait(key))
    assert await taken.get() == "a"
    await process.stop()
    assert slept[0] == LEASE
    assert len(slept) >= 21


@pytest.mark.rule("FILE-23", "FILE-24", "FILE-25")
async def test_a_process_that_runs_on_takes_over_from_one_that_dies_later() -> None:
    processes, slept = Processes(), list[float]()

    async def pass_time(seconds: float) -> None:
        slept.append(seconds)
        processes.now += seconds
        if len(slept) == 1:
            await keep(processes.start(), "a")
        await asyncio.sleep(0)

    taken = asyncio.Queue[str]()
    survivor = processes.start(sleep=pass_time)
    survivor.resume(lambda key, _payload: taken.put_nowait(key))
    assert await taken.get() == "a"
    await survivor.stop()
    assert slept[:2] == [LEASE, LEASE]


async def test_a_delivery_that_is_not_kept_is_not_resumed_either() -> None:
    processes = Processes()
    process = processes.start()

    async def locked(key: str, change: Callable[[JsonValue], JsonValue]) -> JsonValue:
        if key == "chat:files":
            raise StoreError("locked")
        return change(None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes.drafts, "change_draft", locked)
        with pytest.raises(StoreError):
            await keep(process, "a")
    assert await processes.taken_over(process) == []
