"""Limits for what callers may do in a minute, each of them and all together; in memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable


class RequestRates:
    """Counts in windows of fixed length. Of each window it remembers no more callers than all may make requests.

    Args:
        each: what one caller may do in a window.
        in_all: what all may do together.
        monotonic: returns the time, whatever the clock says.
    """

    def __init__(
        self, each: int, in_all: int, monotonic: Callable[[], float], seconds: float = 60.0
    ) -> None:
        self._each, self._in_all = each, in_all
        self._monotonic = monotonic
        self._seconds = seconds
        self._ends = -math.inf
        self._counts: Counter[str] = Counter()

    def pause(self, caller: str) -> int | None:
        """Return in how many seconds the caller may go on; None: now."""
        now = self._monotonic()
        if now >= self._ends:
            self._ends, self._counts = now + self._seconds, Counter()
        if self._counts[caller] < self._each and self._counts.total() < self._in_all:
            return None
        return math.ceil(self._ends - now)

    def count(self, caller: str) -> None:
        """Count one more thing that a caller does."""
        self._counts[caller] += 1
