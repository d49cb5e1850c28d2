"""What a piece of work takes of a processor, and how much it may; other processes and tests count for nothing."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import Final

BLOCKED: Final = 0.05 if sys.gettrace() is None else 0.3
"""Seconds for which one piece of work may hold the event loop; more where every line is traced for coverage."""
_TRIES: Final = 8
_REFERENCE: Final = 0.0018
"""Seconds that `_reference` takes where nothing else runs, on the machine on which the bound was set."""


def seconds(work: Callable[[], object], enough: float = BLOCKED) -> float:
    """What a piece of work takes of a processor that does nothing else: the least of several tries.

    What runs beside it slows it down too, so where it seems to take long, a piece of work that is always the same is
    timed as well. A try that takes less than ``enough`` is the last.
    """
    least, before = float("inf"), 1.0
    gc.disable()  # what other tests left behind is not this work's to sweep up
    for _ in range(_TRIES):
        began = time.thread_time()
        work()
        taken = time.thread_time() - began
        if taken >= BLOCKED / 2:
            after = slowdown()
            taken, before = taken / max(before, after), after
        least = min(least, taken)
        if least < enough:
            break
    gc.enable()
    return least


def slowdown() -> float:
    """How many times slower than undisturbed this processor is now: at least 1."""
    return max(1.0, _reference() / _REFERENCE)


def _reference() -> float:
    """What a loop takes now."""
    began, total = time.thread_time(), 0
    for number in range(60_000):
        total += number * number
    return time.thread_time() - began
