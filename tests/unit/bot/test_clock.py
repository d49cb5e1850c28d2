"""The system's clock: it comes back when its time has come, and not before."""

from __future__ import annotations

import asyncio

from answerback.runtime.clock import SystemClock


async def test_who_sleeps_until_a_time_wakes_when_it_has_come() -> None:
    clock = SystemClock()
    when = clock.now() + 0.02
    async with asyncio.timeout(5):
        await clock.sleep_until(when)
        assert clock.now() >= when
        await clock.sleep_until(when - 60)
