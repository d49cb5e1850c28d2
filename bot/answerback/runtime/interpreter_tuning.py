"""Tune the interpreter for a service that many people click on at once."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_GC_THRESHOLD: Final = 50_000
"""Allocations between two collections; at Python's 700, thousands of waiters would be traversed all the time."""
_SWITCH_SECONDS: Final = 0.0005
"""How long a busy event loop keeps the GIL when the writing thread wants it.

At Python's 5 ms, a click takes 9 % more CPU (`tests.benchmarks.optimisations`, ``usual_switching``)."""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection during start: imports leave almost no garbage, and collecting takes 1/6 of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def tune_interpreter() -> None:
    """Call once everything is started: objects that live now live for ever, and need not be traversed again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD, 20, 100)
    gc.enable()
    sys.setswitchinterval(_SWITCH_SECONDS)
