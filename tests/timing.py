"""What a piece of work takes of a processor, and how much it may; other processes and tests count for nothing."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import Final

BLOCKED: Final = 0.05 if sys.gettrace() is None else 0.3
"""Seconds for which one piece of work may hold the event loop; more where every line is traced for coverage."""
_TRIES: Final = 5


def seconds(work: Callable[[], object]) -> float:
    """What a piece of work takes of a processor: the least of several tries, for what else runs slows it down too."""
    least = float("inf")
    gc.disable()  # what other tests left behind is not this work's to sweep up
    for _ in range(_TRIES):
        began = time.thread_time()
        work()
        least = min(least, time.thread_time() - began)
        if least < BLOCKED / 2:
            break
    gc.enable()
    return least
