"""CPU time that a piece of work takes, independent of other processes and tests."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import Final

BLOCKED: Final = 0.05 if sys.gettrace() is None else 0.3
"""Seconds for which one piece of work may block the event loop; more if every line is traced for coverage."""
_MAX_ATTEMPTS: Final = 8
_REFERENCE: Final = 0.0018
"""Seconds that `_reference` takes on an idle machine of the kind for which the bound was set."""


def seconds(work: Callable[[], object], enough: float = BLOCKED) -> float:
    """Return the seconds that a piece of work takes on an idle processor: the minimum of several attempts.

    Whatever runs at the same time slows it down, so if it seems slow, a fixed piece of work is timed as well for
    comparison. The first attempt that takes less than ``enough`` is the last.
    """
    minimum, before = float("inf"), 1.0
    gc.disable()  # garbage from other tests is not this work's to collect
    try:
        for _ in range(_MAX_ATTEMPTS):
            began = time.thread_time()
            work()
            elapsed = time.thread_time() - began
            if elapsed >= BLOCKED / 2:
                after = slowdown()
                elapsed, before = elapsed / max(before, after), after
            minimum = min(minimum, elapsed)
            if minimum < enough:
                break
    finally:
        gc.enable()
    return minimum


def slowdown() -> float:
    """Return how many times slower than when idle this processor is now: at least 1."""
    return max(1.0, _reference() / _REFERENCE)


def _reference() -> float:
    """Return the seconds that a fixed loop takes now."""
    began, total = time.thread_time(), 0
    for number in range(60_000):
        total += number * number
    return time.thread_time() - began
