"""Lanes: turns at a place, pauses that end when somebody looks, and what has no room."""

from __future__ import annotations

import asyncio

import pytest

from answerback.core.errors import StoreError
from answerback.workers import show_queues
from answerback.workers.show_queues import Retry, ShowQueues
from tests.service_parts import WAIT


class Desk:
    """Attends as scripted: each attempt with an ask takes the next of its results, and ends it where there is none."""

    def __init__(self) -> None:
        self.script: dict[str, list[Retry]] = {}
        self.attempts: list[tuple[str, int]] = []
        self.refills = 0
        self.broken = False
        self.happened = asyncio.Condition()

    async def attend(self, ask_id: str, failures: int) -> Retry | None:
        async with self.happened:
            self.attempts.append((ask_id, failures))
            self.happened.notify_all()
        left = self.script.get(ask_id)
        return left.pop(0) if left else None

    async def refill(self) -> None:
        self.refills += 1
        if self.broken:
            raise StoreError("The disk is full.")

    async def until(self, attempts: int) -> None:
        async with asyncio.timeout(WAIT), self.happened:
            await self.happened.wait_for(lambda: len(self.attempts) >= attempts)


async def test_a_limit_stops_a_place_and_a_failure_only_the_ask_that_failed() -> None:
    desk = Desk()
    queue = ShowQueues(desk.attend, desk.refill)
    desk.script = {"a": [Retry(0.01, limited=True), Retry(3_600, failed=True)]}
    for ask_id in "abc":
        queue.add(ask_id, "place")
    await desk.until(4)
    assert [ask_id for ask_id, _ in desk.attempts] == ["a", "a", "b", "c"]
    queue.add("a", None)
    await queue.wait_until_idle()
    assert desk.attempts[-1] == ("a", 1), "who looks ends the pause"


async def test_who_asks_for_another_look_gets_one_and_those_in_a_queue_keep_their_place() -> None:
    desk = Desk()
    queue = ShowQueues(desk.attend, desk.refill)
    desk.script = {"a": [Retry(0.01, limited=True)]}
    for ask_id in "aba":
        queue.add(ask_id, "place")
    queue.add("b", "place")
    await desk.until(1)
    queue.add("a", "place")
    assert "b" in queue
    await queue.wait_until_idle()
    assert [ask_id for ask_id, _ in desk.attempts] == ["a", "a", "b"]
    assert len(queue) == 0


async def test_a_look_asked_for_during_the_last_attempt_is_another_attempt() -> None:
    desk = Desk()
    queue: ShowQueues

    async def attend(ask_id: str, failures: int) -> Retry | None:
        await desk.attend(ask_id, failures)
        if len(desk.attempts) == 1:
            queue.add(ask_id, None)
        return None

    queue = ShowQueues(attend, desk.refill)
    queue.add("a", "place")
    await queue.wait_until_idle()
    assert desk.attempts == [("a", 0), ("a", 0)]


async def test_a_firm_pause_lasts_whoever_looks() -> None:
    desk = Desk()
    queue = ShowQueues(desk.attend, desk.refill)
    desk.script = {"a": [Retry(0.05, firm=True)]}
    began = asyncio.get_running_loop().time()
    queue.add("a", None)
    await desk.until(1)
    await asyncio.sleep(0)
    queue.add("a", None)
    await queue.wait_until_idle()
    assert len(desk.attempts) == 2
    assert asyncio.get_running_loop().time() - began > 0.04


async def test_an_ask_is_woken_by_a_look_asked_for_during_an_attempt() -> None:
    desk = Desk()
    queue: ShowQueues
    woken = []

    async def attend(ask_id: str, failures: int) -> Retry | None:
        await desk.attend(ask_id, failures)
        woken.append(queue.is_woken("a"))
        if len(desk.attempts) == 1:
            queue.add("a", None)
            woken.append(queue.is_woken("a"))
        return None

    queue = ShowQueues(attend, desk.refill)
    queue.add("a", None)
    await queue.wait_until_idle()
    assert (woken, queue.is_woken("a")) == ([False, True, False], False)


async def test_failures_are_counted_in_a_row() -> None:
    desk = Desk()
    queue = ShowQueues(desk.attend, desk.refill)
    desk.script = {"a": [Retry(0.0, failed=True), Retry(0.001, failed=True), Retry(0.001)]}
    queue.add("a", None)
    await queue.wait_until_idle()
    assert [failures for _, failures in desk.attempts] == [0, 1, 2, 0]


async def test_what_has_no_room_is_fetched_once_there_is_and_a_failure_of_that_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(show_queues, "MAX_QUEUED", 2)
    desk = Desk()
    queue = ShowQueues(desk.attend, desk.refill)
    for ask_id in "abc":
        queue.add(ask_id, None)
    await queue.wait_until_idle()
    assert (sorted(ask_id for ask_id, _ in desk.attempts), desk.refills) == (["a", "b"], 1)
    desk.broken = True
    for ask_id in "abc":
        queue.add(ask_id, None)
    await queue.wait_until_idle()
    assert desk.refills == 2
    assert "The disk is full." in caplog.text


async def test_a_place_has_room_for_so_many_and_nobody_overtakes_those_that_had_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(show_queues, "MAX_QUEUED_PER_PLACE", 2)
    desk = Desk()
    desk.script = {"a": [Retry(0.01, limited=True)]}
    queue = ShowQueues(desk.attend, desk.refill)
    for ask_id in "abc":
        queue.add(ask_id, "place")
    await desk.until(3)
    await queue.wait_until_idle()
    assert ([ask_id for ask_id, _ in desk.attempts], desk.refills) == (["a", "a", "b"], 1)


async def test_stopping_ends_pauses() -> None:
    desk = Desk()
    desk.script = {"a": [Retry(3_600, limited=True)], "b": [Retry(3_600)]}
    queue = ShowQueues(desk.attend, desk.refill)
    queue.add("a", "place")
    queue.add("b", None)
    await desk.until(2)
    await queue.stop()
    await queue.wait_until_idle()
