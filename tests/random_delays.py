"""A pytest plugin that delays threads, sockets and SQLite at random, as a busy machine does, so that races show up.

``make soak`` loads it; ``pytest -p tests.random_delays FILE`` looks for races in one file. Each run has a new seed and
prints it at its end; with that in ``DELAYS_SEED``, each test draws the same numbers again, whichever others run.
"""

from __future__ import annotations

import asyncio
import os
import random
import selectors
import sqlite3
import threading
from collections.abc import Callable
from contextvars import Context
from functools import partial
from time import (
    monotonic,
    sleep,
)  # the real one, which the tests' check for blocking calls does not see
from typing import Any, Final, TypeVarTuple

import pytest

Ts = TypeVarTuple("Ts")

_THREAD: Final = (0.3, 0.03)
"""The share of a thread's results that are delayed, and for how many seconds at most."""
_STATEMENT: Final = (0.05, 0.03)
"""The same for an SQL statement before it runs."""
_LOOP: Final = (0.01, 0.2)
"""The same for everything that an event loop does."""
_WITHHELD: Final = (0.3, 0.03)
"""The same for a socket that is ready: the loop handles everything else meanwhile, so that one side of a connection is
late."""
_random: Final = random.Random()


def _delay(how_often: float, at_most: float) -> None:
    if _random.random() < how_often:
        sleep(_random.uniform(0, at_most))


class _SlowSelector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self._withheld: dict[int, float] = {}
        """By file descriptor, the time until which a socket that is ready seems not to be."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(timeout)
        _delay(*_LOOP)
        handled = [each for each in ready if not self._is_withheld(each[0].fd)]
        if (
            ready and not handled
        ):  # all are still ready at the next call, which would return at once
            sleep(0.001)
        return handled

    def _is_withheld(self, fd: int) -> bool:
        how_often, at_most = _WITHHELD
        is_late = fd not in self._withheld and _random.random() < how_often
        until = self._withheld.setdefault(
            fd, monotonic() + _random.uniform(0, at_most) if is_late else 0.0
        )
        if until > monotonic():
            return True
        del self._withheld[fd]
        return False


class _SlowLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        super().__init__(_SlowSelector())
        self._made_in = threading.get_ident()

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if threading.get_ident() != self._made_in:
            _delay(*_THREAD)
        return super().call_soon_threadsafe(callback, *args, context=context)


class _SlowConnection(sqlite3.Connection):
    def execute(self, *args: Any) -> sqlite3.Cursor:
        _delay(*_STATEMENT)
        return super().execute(*args)


class _SlowPolicy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return _SlowLoop()


def pytest_configure() -> None:
    # The processes among which pytest-xdist divides the tests inherit the seed.
    os.environ.setdefault("DELAYS_SEED", str(random.SystemRandom().randrange(2**32)))
    asyncio.set_event_loop_policy(_SlowPolicy())
    sqlite3.connect = partial(sqlite3.connect, factory=_SlowConnection)  # type: ignore[assignment]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    _random.seed(f"{os.environ['DELAYS_SEED']} {item.nodeid}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"DELAYS_SEED={os.environ['DELAYS_SEED']} repeats these delays")
