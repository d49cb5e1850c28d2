"""How jobs get to the thread: what the loop brings together runs together, and nothing waits for more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from bot.errors import StoreError
from storage.worker import Job, Worker


class Batches:
    """A worker, and the sizes of the batches that it has run."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.worker = Worker("test-worker", self._work)

    def _work(self, batch: Sequence[Job[None, Any]]) -> None:
        self.sizes.append(len(batch))
        for job in batch:
            job.attempt(None)

    async def ask(self, rounds: int = 0) -> int:
        """Does something after so many rounds of the loop."""
        for _ in range(rounds):
            await asyncio.sleep(0)
        return await self.worker.do(lambda _: rounds)


@pytest.fixture
async def batches() -> AsyncIterator[Batches]:
    made = Batches()
    yield made
    await made.worker.stop()


async def test_a_job_that_comes_alone_runs_alone(batches: Batches) -> None:
    assert await batches.ask() == 0
    assert batches.sizes == [1]


async def test_jobs_run_together_for_as_long_as_every_round_of_the_loop_brings_more(
    batches: Batches,
) -> None:
    rounds = [0, 0, 1, 2, 2, 3]
    assert await asyncio.gather(*map(batches.ask, rounds)) == rounds
    assert batches.sizes == [6]


async def test_jobs_do_not_wait_for_more_than_a_batch(batches: Batches) -> None:
    rounds = [n // 8 for n in range(800)]
    assert await asyncio.gather(*map(batches.ask, rounds)) == rounds
    assert sum(batches.sizes) == 800
    assert len(batches.sizes) > 1


async def test_what_was_handed_in_is_done_before_the_worker_stops(batches: Batches) -> None:
    asked = [asyncio.create_task(batches.ask()) for _ in range(3)]
    await asyncio.sleep(0)
    await batches.worker.stop()
    assert await asyncio.gather(*asked) == [0, 0, 0]
    with pytest.raises(StoreError, match="closed"):
        await batches.ask()
