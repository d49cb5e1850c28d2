"""The way of jobs to the writer thread: jobs that the loop adds together run together, and none waits for more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from answerback.core.errors import StoreError
from answerback_storage.sqlite.writer_thread import Job, JobThread


class Batches:
    """A job thread that records the sizes of its batches."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.worker = JobThread("test-worker", self._work)

    def _work(self, batch: Sequence[Job[None, Any]]) -> None:
        self.sizes.append(len(batch))
        for job in batch:
            job.execute(None)

    async def ask(self, rounds: int = 0) -> int:
        """Submit a job after the given number of rounds of the loop."""
        for _ in range(rounds):
            await asyncio.sleep(0)
        return await self.worker.submit(lambda _: rounds)


@pytest.fixture
async def batches() -> AsyncIterator[Batches]:
    recorder = Batches()
    yield recorder
    await recorder.worker.stop()


async def test_a_job_that_comes_alone_runs_alone(batches: Batches) -> None:
    assert await batches.ask() == 0
    assert batches.sizes == [1]


async def test_jobs_run_together_while_every_round_of_the_loop_adds_more(
    batches: Batches,
) -> None:
    rounds = [0, 0, 1, 2, 2, 3]
    assert await asyncio.gather(*map(batches.ask, rounds)) == rounds
    assert batches.sizes == [6]


async def test_jobs_wait_for_at_most_one_batch(batches: Batches) -> None:
    rounds = [n // 8 for n in range(800)]
    assert await asyncio.gather(*map(batches.ask, rounds)) == rounds
    assert sum(batches.sizes) == 800
    assert len(batches.sizes) > 1


async def test_a_job_that_may_wait_shares_the_batch_of_the_next_one(batches: Batches) -> None:
    waiting = [batches.worker.submit(lambda _: 5, within=60.0) for _ in range(2)]
    assert await batches.ask(3) == 3
    assert await asyncio.gather(*waiting) == [5, 5]
    assert batches.sizes == [3]


async def test_a_job_that_may_wait_runs_in_time_if_no_other_comes(batches: Batches) -> None:
    assert await batches.worker.submit(lambda _: 5, within=0.01) == 5
    assert batches.sizes == [1]


async def test_a_job_that_may_wait_less_takes_along_those_that_came_before(
    batches: Batches,
) -> None:
    waiting = batches.worker.submit(lambda _: 5, within=60.0)
    assert await batches.worker.submit(lambda _: 6, within=0.01) == 6
    assert await waiting == 5
    assert batches.sizes == [2]


async def test_a_job_that_may_wait_longer_does_not_delay_those_that_came_before(
    batches: Batches,
) -> None:
    waiting = batches.worker.submit(lambda _: 5, within=0.01)
    patient = batches.worker.submit(lambda _: 6, within=60.0)
    assert [await waiting, await patient] == [5, 6]
    assert batches.sizes == [2]


async def test_a_job_that_may_wait_runs_before_the_end(batches: Batches) -> None:
    waiting = batches.worker.submit(lambda _: 5, within=60.0)
    await batches.worker.stop()
    assert await waiting == 5


async def test_the_callback_runs_even_if_nobody_waits(batches: Batches) -> None:
    results: list[int] = []
    leaving = batches.worker.submit(lambda _: 7, results.append)
    leaving.cancel()
    assert await batches.ask() == 0
    assert results == [7]


async def test_a_failing_callback_is_logged_and_blocks_nobody(
    batches: Batches, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_result: int) -> None:
        raise LookupError("nobody is there")

    failing = batches.worker.submit(lambda _: 7, fail)
    assert [*await asyncio.gather(failing, batches.ask())] == [7, 0]
    assert "nobody is there" in caplog.text


async def test_an_exception_that_no_future_accepts_reaches_the_caller(batches: Batches) -> None:
    def stop(_: None) -> int:
        raise StopIteration

    outcome, other = await asyncio.gather(
        batches.worker.submit(stop), batches.ask(), return_exceptions=True
    )
    assert isinstance(outcome, RuntimeError)
    assert other == 0


async def test_a_failing_batch_reaches_its_callers_and_the_thread_continues() -> None:
    failing = True

    def work(batch: Sequence[Job[None, Any]]) -> None:
        if failing:
            raise LookupError("the work failed")
        for job in batch:
            job.execute(None)

    worker = JobThread("test-worker", work)
    outcomes = await asyncio.gather(
        worker.submit(lambda _: 1), worker.submit(lambda _: 2), return_exceptions=True
    )
    assert [str(outcome) for outcome in outcomes] == ["the work failed"] * 2
    failing = False
    assert await worker.submit(lambda _: 3) == 3
    await worker.stop()


async def test_submitted_jobs_finish_before_the_thread_stops(batches: Batches) -> None:
    asked = [asyncio.create_task(batches.ask()) for _ in range(3)]
    await asyncio.sleep(0)
    await batches.worker.stop()
    assert await asyncio.gather(*asked) == [0, 0, 0]
    with pytest.raises(StoreError, match="closed"):
        await batches.ask()
