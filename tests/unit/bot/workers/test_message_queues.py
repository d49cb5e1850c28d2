"""Show queues: turns at a place, delays that a request ends, and asks that do not fit."""

from __future__ import annotations

import asyncio

import pytest

from answerback.core.errors import StoreError
from answerback.workers import message_queues
from answerback.workers.message_queues import MessageQueues, Retry
from tests.service_support import WAIT


class Script:
    """Scripted attempts: each attempt at an ask returns the ask's next result, and None after the last."""

    def __init__(self) -> None:
        self.results: dict[str, list[Retry]] = {}
        self.attempts: list[tuple[str, int]] = []
        self.refills = 0
        self.broken = False
        self.happened = asyncio.Condition()

    async def attempt(self, ask_id: str, failures: int) -> Retry | None:
        async with self.happened:
            self.attempts.append((ask_id, failures))
            self.happened.notify_all()
        left = self.results.get(ask_id)
        return left.pop(0) if left else None

    async def refill(self) -> None:
        self.refills += 1
        if self.broken:
            raise StoreError("The disk is full.")

    async def until(self, attempts: int) -> None:
        async with asyncio.timeout(WAIT), self.happened:
            await self.happened.wait_for(lambda: len(self.attempts) >= attempts)


async def test_a_rate_limit_delays_a_place_and_a_failure_only_the_failed_ask() -> None:
    script = Script()
    queue = MessageQueues(script.attempt, script.refill)
    script.results = {"a": [Retry(0.01, limited=True), Retry(3_600, failed=True)]}
    for ask_id in "abc":
        queue.add(ask_id, "place")
    await script.until(4)
    assert [ask_id for ask_id, _ in script.attempts] == ["a", "a", "b", "c"]
    queue.add("a", None)
    await queue.wait_until_idle()
    assert script.attempts[-1] == ("a", 1), "a request ends the delay"


async def test_a_requested_ask_is_retried_at_once_and_queued_asks_keep_their_order() -> None:
    script = Script()
    queue = MessageQueues(script.attempt, script.refill)
    script.results = {"a": [Retry(0.01, limited=True)]}
    for ask_id in "aba":
        queue.add(ask_id, "place")
    queue.add("b", "place")
    await script.until(1)
    queue.add("a", "place")
    assert "b" in queue
    await queue.wait_until_idle()
    assert [ask_id for ask_id, _ in script.attempts] == ["a", "a", "b"]
    assert len(queue) == 0


async def test_a_request_during_the_last_attempt_leads_to_another() -> None:
    script = Script()
    queue: MessageQueues

    async def attempt(ask_id: str, failures: int) -> Retry | None:
        await script.attempt(ask_id, failures)
        if len(script.attempts) == 1:
            queue.add(ask_id, None)
        return None

    queue = MessageQueues(attempt, script.refill)
    queue.add("a", "place")
    await queue.wait_until_idle()
    assert script.attempts == [("a", 0), ("a", 0)]


@pytest.mark.parametrize("place", [None, "place"])
async def test_a_firm_delay_is_not_shortened_by_a_request(place: str | None) -> None:
    script = Script()
    queue = MessageQueues(script.attempt, script.refill)
    script.results = {"a": [Retry(0.05, firm=True)]}
    began = asyncio.get_running_loop().time()
    queue.add("a", place)
    await script.until(1)
    await asyncio.sleep(0)
    queue.add("a", None)
    await queue.wait_until_idle()
    assert len(script.attempts) == 2
    assert asyncio.get_running_loop().time() - began > 0.04


async def test_a_request_during_an_attempt_wakes_the_ask() -> None:
    script = Script()
    queue: MessageQueues
    woken = []

    async def attempt(ask_id: str, failures: int) -> Retry | None:
        await script.attempt(ask_id, failures)
        woken.append(queue.is_woken("a"))
        if len(script.attempts) == 1:
            queue.add("a", None)
            woken.append(queue.is_woken("a"))
        return None

    queue = MessageQueues(attempt, script.refill)
    queue.add("a", None)
    await queue.wait_until_idle()
    assert (woken, queue.is_woken("a")) == ([False, True, False], False)


async def test_consecutive_failures_are_counted() -> None:
    script = Script()
    queue = MessageQueues(script.attempt, script.refill)
    script.results = {"a": [Retry(0.0, failed=True), Retry(0.001, failed=True), Retry(0.001)]}
    queue.add("a", None)
    await queue.wait_until_idle()
    assert [failures for _, failures in script.attempts] == [0, 1, 2, 0]


async def test_asks_that_did_not_fit_are_fetched_later_and_a_failure_to_do_so_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(message_queues, "MAX_QUEUED", 2)
    script = Script()
    queue = MessageQueues(script.attempt, script.refill)
    for ask_id in "abc":
        queue.add(ask_id, None)
    await queue.wait_until_idle()
    assert (sorted(ask_id for ask_id, _ in script.attempts), script.refills) == (["a", "b"], 1)
    script.broken = True
    for ask_id in "abc":
        queue.add(ask_id, None)
    await queue.wait_until_idle()
    assert script.refills == 2
    assert "The disk is full." in caplog.text


async def test_a_places_queue_is_bounded_and_nobody_overtakes_asks_that_did_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(message_queues, "MAX_QUEUED_PER_PLACE", 2)
    script = Script()
    script.results = {"a": [Retry(0.01, limited=True)]}
    queue = MessageQueues(script.attempt, script.refill)
    for ask_id in "abc":
        queue.add(ask_id, "place")
    await script.until(3)
    await queue.wait_until_idle()
    assert ([ask_id for ask_id, _ in script.attempts], script.refills) == (["a", "a", "b"], 1)


async def test_stopping_ends_delays() -> None:
    script = Script()
    script.results = {"a": [Retry(3_600, limited=True)], "b": [Retry(3_600)]}
    queue = MessageQueues(script.attempt, script.refill)
    queue.add("a", "place")
    queue.add("b", None)
    await script.until(2)
    await queue.stop()
    await queue.wait_until_idle()
