"""Threads that libraries start, such as the one in which discord.py sends its heartbeats.

Each is a thread of the system, and only one runs at a time: the event loop gives a thread its turn and waits until it
waits for something itself. So what threads do is in the same order in every run, and a killed process has none.
"""

from __future__ import annotations

import threading
from _thread import allocate_lock
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.machine import CURRENT

if TYPE_CHECKING:
    from tests.simulation.loop import SimulatedLoop

_WAITERS: Final = "_simulated_waiters"
"""The attribute of an event that has the threads that wait for it."""
_loop: SimulatedLoop | None = None
_running = threading.local()


class _Thread:
    """A thread that runs only when it is its turn."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self._turn, self._over = allocate_lock(), allocate_lock()
        self._turn.acquire()
        self._over.acquire()
        self._inside, self._outside = copy_context(), copy_context()
        self._waits = 0
        """The number of times that it has waited: a turn for an earlier wait comes too late."""

    def run(self, work: Callable[[], None]) -> None:
        """Run what the thread is for, in the thread itself."""
        self._turn.acquire()
        _running.thread = self
        try:
            self._inside.run(work)
        finally:
            self._waits = -1
            self._over.release()

    def soon(self) -> None:
        """Let it run after what the loop has to do already."""
        self._loop.call_soon(self._run_until_it_waits, self._waits, context=self._outside)

    def wait(self, seconds: float | None) -> None:
        """Let the loop run, until the thread's turn comes by `soon` or after so many seconds."""
        if seconds is not None:
            self._loop.call_later(
                seconds, self._run_until_it_waits, self._waits, context=self._outside
            )
        self._over.release()
        self._turn.acquire()

    def _run_until_it_waits(self, wait: int) -> None:
        if wait == self._waits:
            self._waits += 1
            self._turn.release()
            self._over.acquire()


def use(loop: SimulatedLoop) -> None:
    """Let this loop run the threads of this process."""
    global _loop
    _loop = loop


def install() -> None:
    """Replace what starts threads, and what they wait for; threads that no simulated process starts are as ever."""
    _replace_start()
    _replace_events()
    _replace_results()


def _replace_start() -> None:
    start = threading.Thread.start

    def simulated_start(self: threading.Thread) -> None:
        if _loop is None or CURRENT.get(None) is None:
            start(self)
            return
        simulated, work = _Thread(_loop), self.run
        self.__dict__["run"] = lambda: simulated.run(work)
        start(self)
        simulated.soon()

    _put(threading.Thread, "start", simulated_start)


def _replace_events() -> None:
    wait, set_ = threading.Event.wait, threading.Event.set

    def simulated_wait(self: threading.Event, timeout: float | None = None) -> bool:
        simulated: _Thread | None = getattr(_running, "thread", None)
        if simulated is None:
            return wait(self, timeout)
        if not self.is_set():
            self.__dict__.setdefault(_WAITERS, []).append(simulated)
            simulated.wait(timeout)
            self.__dict__[_WAITERS].remove(simulated)
        return self.is_set()

    def simulated_set(self: threading.Event) -> None:
        set_(self)
        for each in self.__dict__.get(_WAITERS, ()):
            each.soon()

    _put(threading.Event, "wait", simulated_wait)
    _put(threading.Event, "set", simulated_set)


def _replace_results() -> None:
    result = Future.result

    def simulated_result(self: Future[Any], timeout: float | None = None) -> Any:
        simulated: _Thread | None = getattr(_running, "thread", None)
        if simulated is None or self.done():
            return result(self, timeout)
        self.add_done_callback(lambda _: simulated.soon())
        simulated.wait(timeout)
        return result(self, 0)

    _put(Future, "result", simulated_result)


def _put(owner: type, name: str, function: Callable[..., object]) -> None:
    setattr(owner, name, function)
