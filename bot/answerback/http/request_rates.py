"""Limits for what callers may do in a minute, each of them and all together; in memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class RequestRates:
    """Counts in windows of fixed length. Of each window it remembers no more callers than all may make requests."""

    each: int
    """What one caller may do in a window."""
    in_all: int
    """What all may do together."""
    monotonic: Callable[[], float]
    """Returns the time, whatever the clock says."""
    seconds: float = 60.0
    _ends: float = -math.inf
    _counts: Counter[str] = field(default_factory=Counter)

    def pause(self, caller: str) -> int | None:
        """Return in how many seconds the caller may continue; None: now."""
        now = self.monotonic()
        if now >= self._ends:
            self._ends, self._counts = now + self.seconds, Counter()
        if self._counts[caller] < self.each and self._counts.total() < self.in_all:
            return None
        return math.ceil(self._ends - now)

    def count(self, caller: str) -> None:
        """Count one more thing that a caller does."""
        self._counts[caller] += 1
