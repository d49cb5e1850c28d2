"""Tune the interpreter: a command starts sooner, and many people click on a service at once."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_GC_THRESHOLD: Final = 50_000
"""Allocations between two collections; at Python's 700, thousands of waiters would be traversed all the time."""
_M_ARENA_MAX: Final = -8
"""The option of glibc's ``mallopt``, see https://man7.org/linux/man-pages/man3/mallopt.3.html."""
_SWITCH_SECONDS: Final = 0.0005
"""Seconds that a busy event loop keeps the GIL when the writing thread wants it.

At Python's 5 ms, a click takes 9 % more CPU (`tests.benchmarks.optimisations`, ``usual_switching``)."""


def collect_rarely() -> None:
    """Call before the imports: at Python's threshold, collecting takes a twentieth of a command's time."""
    gc.set_threshold(_GC_THRESHOLD, 20, 100)


def share_one_heap() -> None:
    """Let all threads allocate from glibc's one heap; call before there are threads.

    By default each has a heap of its own, which takes an idle service 1.6 MB. Threads seldom allocate at the same time,
    as they hold the GIL. Other C libraries have no such option.
    """
    import ctypes  # not above: only a service needs it

    program = ctypes.CDLL(None)
    if hasattr(program, "mallopt"):
        program.mallopt(_M_ARENA_MAX, 1)


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection during start: imports leave almost no garbage, and collecting takes 1/6 of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def tune_interpreter() -> None:
    """Call once everything is started: objects that live now live for ever, and need not be traversed again.

    Nor are they traversed once before: that takes a tenth of the start, and the start leaves 0.2 MB of garbage.
    """
    gc.freeze()
    collect_rarely()
    gc.enable()
    sys.setswitchinterval(_SWITCH_SECONDS)
