"""How the interpreter is set for a service that many people click on at once."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_GC_THRESHOLD: Final = 50_000
"""Allocations between two collections; at Python's 700, thousands of waiters are searched all the time."""
_SWITCH_SECONDS: Final = 0.0005
"""How long a busy event loop keeps the lock when the thread that writes wants it.

At Python's 5 ms a click takes 9 % more of the processor (`tests.benchmarks.clever`, ``usual_switching``)."""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Collects no garbage until `tune_interpreter`: imports leave next to none, and looking takes 1/6 of a start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def tune_interpreter() -> None:
    """Once everything is imported and started: what lives now lives for ever, and need not be searched."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD, 20, 100)
    gc.enable()
    sys.setswitchinterval(_SWITCH_SECONDS)
