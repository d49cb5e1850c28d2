"""The time, as the running service has it."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from bot.ports import Clock

_LOOK: Final = 1.0
"""Seconds between two looks at the machine's clock, which may be set at any time while somebody sleeps."""
SET: Final = 1.0
"""Seconds by which the clock moves against the time that passed before it counts as set, not as drifting."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some moment; no setting of the clock moves it."""
        return time.monotonic()

    async def sleep_until(self, when: float) -> None:
        """Returns once ``now()`` has reached ``when``, or the clock was set back meanwhile."""
        watch = Watch(self)
        while (left := when - self.now()) > 0 and not watch.set_back():  # noqa: ASYNC110 the clock is watched
            await asyncio.sleep(min(left, _LOOK))


class Watch:
    """Notices that a clock was set back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead = clock.now() - clock.monotonic()

    def set_back(self) -> float:
        """The seconds by which the clock was set back since the last call; 0 where it was not."""
        before, self._ahead = self._ahead, self._clock.now() - self._clock.monotonic()
        back = before - self._ahead
        return back if back > SET else 0.0
