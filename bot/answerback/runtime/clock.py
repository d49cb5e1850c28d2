"""The time, as the running service has it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from answerback.core.errors import StoreError
from answerback.ports.clock import Clock, ClockStepDetector

logger = logging.getLogger(__name__)

_LOOK: Final = 1.0
"""Seconds between two looks at the machine's clock, which may be set at any time while somebody sleeps."""
_ASKED: Final = 5.0
"""Seconds between two questions for the time."""
MAX_QUERY_SECONDS: Final = 0.5
"""Seconds that an answer may take: of one that took longer nobody knows well enough when it was given.

Half of that is how far two processes may be off, each: together less than what counts as a clock that was set.
"""
_TRIES: Final = 5
"""Answers that are waited for at the start, in case the first ones took too long."""


class SystemClock:
    """The machine's clock."""

    now = staticmethod(time.time)
    """Seconds since the epoch, UTC."""
    monotonic = staticmethod(time.monotonic)
    """Seconds since some moment; no setting of the clock moves it."""

    async def sleep_until(self, when: float) -> None:
        """Returns once ``now()`` has reached ``when``, or the clock was set back meanwhile."""
        await _sleep_until(self, when)


class SharedClock:
    """The clock of the store that several processes share: what one of them writes is in no other's future.

    It is asked for every few seconds and goes on by the monotonic clock, so the machine's own clock may say anything.

    Args:
        ask: the time by the store's clock; may raise StoreError.
    """

    def __init__(self, ask: Callable[[], Awaitable[float]]) -> None:
        self._ask = ask
        self._ahead = time.time() - time.monotonic()

    monotonic = staticmethod(time.monotonic)
    """Seconds since some moment; no setting of the clock moves it."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return self.monotonic() + self._ahead

    async def sleep_until(self, when: float) -> None:
        """Returns once ``now()`` has reached ``when``, or the clock was set back meanwhile."""
        await _sleep_until(self, when)

    async def start(self) -> None:
        """Learns the time.

        Raises:
            StoreError: the store does not tell it.
        """
        tries = 1
        while not await self._learn(unsure=tries == _TRIES):
            tries += 1

    async def run(self) -> None:
        """Keeps to the store's clock until cancelled."""
        while True:
            await asyncio.sleep(_ASKED)
            try:
                await self._learn()
            except StoreError as error:
                extra = {"action": "clock"}
                logger.warning("The database's time is asked for later: %s", error, extra=extra)

    async def _learn(self, *, unsure: bool = False) -> bool:
        """Asks once; False where the answer took too long to go by it."""
        began = self.monotonic()
        at = await self._ask()
        took = self.monotonic() - began
        if took > MAX_QUERY_SECONDS and not unsure:
            return False
        ahead = at - began - took / 2
        if abs(ahead - self._ahead) > took / 2:  # otherwise it may well be as it was
            self._ahead = ahead
        return True


async def _sleep_until(clock: Clock, when: float) -> None:
    watch = ClockStepDetector(clock)
    while (left := when - clock.now()) > 0 and not watch.measure_set_back():  # noqa: ASYNC110 the clock is watched
        await asyncio.sleep(min(left, _LOOK))
