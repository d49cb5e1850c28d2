"""Background loops survive crashes, and end when they are cancelled."""

from __future__ import annotations

import asyncio
import logging

import pytest

from answerback.runtime.supervision import run_supervised
from tests.service_support import WAIT


@pytest.mark.rule("DATA-18")
async def test_a_crashed_loop_is_logged_and_restarted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs = 0
    again = asyncio.Event()

    async def loop() -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise ValueError("a defect")
        if runs == 3:
            again.set()
            await asyncio.Event().wait()

    with caplog.at_level(logging.ERROR, "answerback.runtime.supervision"):
        task = asyncio.create_task(run_supervised("upkeep", loop, first_pause=0.001))
        async with asyncio.timeout(WAIT):
            await again.wait()
    crashed, ended = caplog.records
    assert (crashed.message, crashed.__dict__["loop"]) == ("A background loop crashed", "upkeep")
    assert crashed.exc_info is not None
    assert ended.message == "A background loop returned unexpectedly"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert runs == 3


async def test_a_loop_that_was_stable_is_restarted_after_the_first_pause() -> None:
    runs = 0
    enough = asyncio.Event()

    async def loop() -> None:
        nonlocal runs
        runs += 1
        if runs == 14:
            enough.set()

    task = asyncio.create_task(run_supervised("upkeep", loop, first_pause=0.02, stable=-1.0))
    # Thirteen pauses of at most 0.02 s; if each had been twice the previous one, they would have taken minutes.
    async with asyncio.timeout(WAIT):
        await enough.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
