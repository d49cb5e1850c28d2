"""The clock, as the service and its workers see it.

Proved by `tests/unit/bot/runtime/test_clock.py` and `tests/unit/bot/webhooks/test_clock_set.py`.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

MIN_CLOCK_STEP: Final = 1.0
"""Seconds by which the clock must differ from the time that passed before it counts as set rather than drifting."""


class Clock(Protocol):
    """A source of time, which tests can control."""

    def now(self) -> float:
        """Seconds since the epoch, UTC. Setting the machine's clock moves it."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment: for intervals, whatever the clock says."""

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds, whatever the clock says: for intervals."""

    async def sleep_until(self, when: float) -> None:
        """Return once ``now()`` has reached ``when``, or once the clock has been set back."""


class ClockStepDetector:
    """Detects that a clock was set back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead = clock.now() - clock.monotonic()

    def measure_set_back(self) -> float:
        """The seconds by which the clock was set back since the last call; 0 if it was not."""
        previous, self._ahead = self._ahead, self._clock.now() - self._clock.monotonic()
        set_back = previous - self._ahead
        return set_back if set_back > MIN_CLOCK_STEP else 0.0


async def sleep_until_woken(
    clock: Clock, wake: asyncio.Event, until: float | None, longest: float
) -> None:
    """Return once an event is set, the clock has reached a time, or so many seconds have passed."""
    waiting: list[asyncio.Task[object]] = [asyncio.create_task(wake.wait())]
    if until is not None:
        waiting.append(asyncio.create_task(clock.sleep_until(until)))
    try:
        await asyncio.wait(waiting, timeout=longest, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
