"""CPU time that a piece of work takes, independent of the machine, and of other processes and tests."""

from __future__ import annotations

import gc
import json
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

    Whatever runs at the same time slows it down, so if it seems slow, it is compared with `slowdown`. The first attempt
    that takes less than ``enough`` is the last.
    """
    minimum = float("inf")
    gc.disable()  # garbage from other tests is not this work's to collect
    try:
        for attempt in range(_MAX_ATTEMPTS):
            elapsed = _cpu_time(work)
            if elapsed >= BLOCKED / 2:
                elapsed /= slowdown(attempt * elapsed)
            minimum = min(minimum, elapsed)
            if minimum < enough:
                break
    finally:
        gc.enable()
    return minimum


def slowdown(over: float = 0.0) -> float:
    """Return how many times slower than when idle this processor is now: at least 1.

    A virtual machine may stand still for a part of each tenth of a second. Work that lasts long always meets such
    pauses, a short comparison seldom: it is repeated until it has taken ``over`` seconds, too.
    """
    total, rounds = 0.0, 0
    while not rounds or total < over:
        total += _cpu_time(_reference)
        rounds += 1
    return max(1.0, total / rounds / _REFERENCE)


def _cpu_time(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def _reference() -> None:
    """Make objects, text and JSON, as the product does: other processes slow these down more than arithmetic."""
    json.dumps([{"value": str(number), "text": f"{number}: é".strip()} for number in range(3_000)])
