"""The system's clock, and the clock that processes with a common store share."""

from __future__ import annotations

import asyncio

import pytest

from answerback.core.errors import StoreError
from answerback.runtime.clock import MAX_QUERY_SECONDS, SharedClock, SystemClock
from tests.service_support import WAIT


async def test_sleeping_until_a_time_ends_when_it_is_reached() -> None:
    clock = SystemClock()
    when = clock.now() + 0.02
    async with asyncio.timeout(WAIT):
        await clock.sleep_until(when)
        assert clock.now() >= when
        await clock.sleep_until(when - 60)


class FakeStoreClock:
    """A store's clock: its offset from the monotonic clock, and how its queries behave."""

    def __init__(self, ahead: float) -> None:
        self.ahead = ahead
        self.answers: list[float | StoreError] = []
        """The next queries: each takes the given seconds, by a clock that a test moves, or fails."""
        self.passed = 0.0
        self.asked = 0

    def monotonic(self) -> float:
        return self.passed

    async def time(self) -> float:
        self.asked += 1
        answer = self.answers.pop(0) if self.answers else 0.0
        if isinstance(answer, StoreError):
            raise answer
        self.passed += answer
        return self.passed + self.ahead


@pytest.fixture
def store_clock(monkeypatch: pytest.MonkeyPatch) -> FakeStoreClock:
    made = FakeStoreClock(3_600.0)
    monkeypatch.setattr(SharedClock, "monotonic", made.monotonic)
    return made


@pytest.mark.rule("CLAIM-13")
async def test_processes_that_share_a_store_use_its_clock(store_clock: FakeStoreClock) -> None:
    clock = SharedClock(store_clock.time)
    await clock.start()
    assert clock.now() == 3_600.0
    store_clock.passed += 10.0
    assert clock.now() == 3_610.0
    assert store_clock.asked == 1, "it continues with the monotonic clock"


@pytest.mark.rule("CLAIM-13")
async def test_a_slow_query_for_the_time_is_repeated_a_few_times(
    store_clock: FakeStoreClock,
) -> None:
    clock = SharedClock(store_clock.time)
    store_clock.answers = [MAX_QUERY_SECONDS + 0.125, MAX_QUERY_SECONDS]
    await clock.start()
    assert store_clock.asked == 2
    assert abs(clock.now() - store_clock.passed - store_clock.ahead) <= MAX_QUERY_SECONDS / 2
    store_clock.answers = [60.0] * 5
    await clock.start()
    assert store_clock.asked == 7
    assert abs(clock.now() - store_clock.passed - store_clock.ahead) <= 30.0


@pytest.mark.rule("CLAIM-13")
async def test_a_clock_follows_its_store_despite_query_delays(
    store_clock: FakeStoreClock, caplog: pytest.LogCaptureFixture
) -> None:
    clock = SharedClock(store_clock.time, every=0.0)
    await clock.start()
    store_clock.answers = [0.25, StoreError("no database now"), 64.0]
    store_clock.ahead -= 0.0625
    running = asyncio.create_task(clock.run())
    async with asyncio.timeout(WAIT):
        while len(store_clock.answers) > 0:  # noqa: ASYNC110 there is no notification
            await asyncio.sleep(0)
    assert "queried again: no database now" in caplog.text
    assert clock.now() - store_clock.passed == 3_600.0, "within the accuracy of the query"
    store_clock.ahead -= 60.0
    async with asyncio.timeout(WAIT):
        while clock.now() - store_clock.passed != store_clock.ahead:  # noqa: ASYNC110 there is no notification
            await asyncio.sleep(0)
    running.cancel()
