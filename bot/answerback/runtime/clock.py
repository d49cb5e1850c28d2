"""The time, as the running service has it."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from answerback.ports.clock import Watch

_LOOK: Final = 1.0
"""Seconds between two looks at the machine's clock, which may be set at any time while somebody sleeps."""


class SystemClock:
    """The machine's clock."""

    now = staticmethod(time.time)
    """Seconds since the epoch, UTC."""
    monotonic = staticmethod(time.monotonic)
    """Seconds since some moment; no setting of the clock moves it."""

    async def sleep_until(self, when: float) -> None:
        """Returns once ``now()`` has reached ``when``, or the clock was set back meanwhile."""
        watch = Watch(self)
        while (left := when - self.now()) > 0 and not watch.set_back():  # noqa: ASYNC110 the clock is watched
            await asyncio.sleep(min(left, _LOOK))
