"""Limits for what callers may do in a minute, each of them and all together; in memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

_FEW: Final = 5
"""One part of so many of what a caller may do counts against the reserve: its first requests."""


@dataclass
class RequestRates:
    """Counts in windows of fixed length.

    Half of what all may do is reserved for the first few requests of each caller, which may use the rest, too. Callers
    that do as much as they may leave room for those who have done little. It remembers no more callers than may do
    something in a window.
    """

    each: int
    """The number of requests that one caller may make in a window."""
    in_all: int
    """The number of requests that all callers may make together."""
    monotonic: Callable[[], float]
    """Returns the time, whatever the clock says."""
    seconds: float = 60.0
    _ends: float = -math.inf
    _counts: Counter[str] = field(default_factory=Counter)
    _reserved: int = 0
    """The number of requests made by callers that had made few."""

    def pause(self, caller: str) -> int | None:
        """Return in how many seconds the caller may continue; None: now."""
        now = self.monotonic()
        if now >= self._ends:
            self._ends, self._counts, self._reserved = now + self.seconds, Counter(), 0
        total = self._counts.total()
        has_room = total < self.in_all
        if not self._has_done_little(caller):
            has_room &= total - self._reserved < self.in_all // 2
        if self._counts[caller] < self.each and has_room:
            return None
        return math.ceil(self._ends - now)

    def count(self, caller: str) -> None:
        """Count one more thing that a caller does."""
        self._reserved += self._has_done_little(caller)
        self._counts[caller] += 1

    def _has_done_little(self, caller: str) -> bool:
        return self._counts[caller] < math.ceil(self.each / _FEW)
