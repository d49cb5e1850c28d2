"""The clock, as the service and its workers see it."""

from __future__ import annotations

from typing import Final, Protocol, TypeVar

T = TypeVar("T")

MIN_CLOCK_STEP: Final = 1.0
"""Seconds by which the clock moves against the time that passed before it counts as set, not as drifting."""


class Clock(Protocol):
    """Tells the time; tests move it."""

    def now(self) -> float:
        """Seconds since the epoch, UTC; whoever sets the machine's clock moves it."""

    def monotonic(self) -> float:
        """Seconds since some moment: for what is over after a while, whatever the clock says."""

    async def sleep_until(self, when: float) -> None:
        """Returns once ``now()`` has reached ``when``, or the clock was set back meanwhile."""


class ClockStepDetector:
    """Notices that a clock was set back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead = clock.now() - clock.monotonic()

    def measure_set_back(self) -> float:
        """The seconds by which the clock was set back since the last call; 0 where it was not."""
        before, self._ahead = self._ahead, self._clock.now() - self._clock.monotonic()
        back = before - self._ahead
        return back if back > MIN_CLOCK_STEP else 0.0
