"""The clocks of the running service."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from answerback.core.errors import StoreError
from answerback.ports.clock import Clock, ClockStepDetector

logger = logging.getLogger(__name__)

_CHECK_SECONDS: Final = 1.0
"""Maximum seconds to sleep before checking the clock again, which may be set at any time."""
MAX_QUERY_SECONDS: Final = 0.5
"""Maximum seconds that a query for the time may take; the result of a slower one is too inaccurate to use.

A process's clock may be off by half of that, and two processes together by less than what counts as a clock step.
"""
_MAX_TRIES: Final = 5
"""Maximum number of queries at the start; the last one is used even if it was slow."""


class SystemClock(Clock):
    """The machine's clock."""

    # Not functions of ours: each click asks for the time.
    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def sleep_until(self, when: float) -> None:
        detector = ClockStepDetector(self)
        while (remaining := when - self.now()) > 0 and not detector.measure_set_back():  # noqa: ASYNC110 the clock is watched
            await asyncio.sleep(min(remaining, _CHECK_SECONDS))


class SharedClock(SystemClock):
    """The clock of a store that several processes share, so that no process writes times in another's future.

    It is queried every few seconds and continued with the monotonic clock, so the machine's own clock may be wrong.

    Args:
        ask: returns the time by the store's clock; may raise StoreError.
        every: the seconds between two queries.
    """

    def __init__(self, ask: Callable[[], Awaitable[float]], every: float = 5.0) -> None:
        self._ask = ask
        self._every = every
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        return self.monotonic() + self._offset

    async def start(self) -> None:
        """Query the time for the first time.

        Raises:
            StoreError: the query failed.
        """
        tries = 1
        while not await self._sync(accept_slow=tries == _MAX_TRIES):
            tries += 1

    async def run(self) -> None:
        """Follow the store's clock until cancelled."""
        while True:
            await asyncio.sleep(self._every)
            try:
                await self._sync()
            except StoreError as error:
                extra = {"action": "clock"}
                logger.warning(
                    "The database's time could not be read, and will be queried again: %s",
                    error,
                    extra=extra,
                )

    async def _sync(self, *, accept_slow: bool = False) -> bool:
        """Query the time once; False if the query was too slow to use."""
        started = self.monotonic()
        store_time = await self._ask()
        elapsed = self.monotonic() - started
        if elapsed > MAX_QUERY_SECONDS and not accept_slow:
            return False
        offset = store_time - started - elapsed / 2
        # A smaller difference may just be the query's inaccuracy.
        if abs(offset - self._offset) > elapsed / 2:
            self._offset = offset
        return True
