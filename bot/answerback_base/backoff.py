"""Exponential back-off: growing pauses between retries."""

from __future__ import annotations

import asyncio
import random
from typing import Final

_JITTER: Final = 0.25
"""The maximum fraction by which a pause is extended, so that processes that failed together do not retry together."""
_MAX_FAILURES: Final = 64
"""The number of failures after which a pause stops growing, so that the power does not overflow a float."""


class Backoff:
    """Pauses that grow with each failure.

    Args:
        first: the first pause, in seconds.
        longest: the longest pause, in seconds and without jitter.
        factor: the ratio between two consecutive pauses.
    """

    __slots__ = ("_factor", "_failures", "_first", "_longest")

    def __init__(self, first: float = 0.25, longest: float = 10.0, factor: float = 2.0) -> None:
        self._first = first
        self._longest = longest
        self._factor = factor
        self._failures = 0

    def reset(self) -> None:
        """Start again with the first pause, after a success."""
        self._failures = 0

    def delay_after(self, failures: int) -> float:
        """The seconds to wait after a failure that follows the given number of failures."""
        grown = self._first * self._factor ** min(failures, _MAX_FAILURES)
        return min(grown, self._longest) * random.uniform(1.0, 1.0 + _JITTER)

    def next_delay(self) -> float:
        """Count a failure, and return the seconds to wait."""
        self._failures += 1
        return self.delay_after(self._failures - 1)

    async def wait(self, least: float = 0.0) -> None:
        """Wait for the next pause, but at least for ``least`` seconds, such as a platform's Retry-After."""
        await asyncio.sleep(max(self.next_delay(), least))
