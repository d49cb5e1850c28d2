"""The time, as the running service has it."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()

    async def sleep_until(self, when: float) -> None:
        """Returns once ``now()`` has reached ``when``; a clock that was set back is waited for."""
        while (left := when - time.time()) > 0:  # noqa: ASYNC110 - it is the clock that is waited for
            await asyncio.sleep(min(left, 60.0))
