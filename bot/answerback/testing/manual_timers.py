"""Timers that run when a test says so: a slow machine does not let them run too early."""

from __future__ import annotations

from collections.abc import Callable


class ManualTimers:
    """Give its ``call_later`` to what would use that of the event loop."""

    def __init__(self) -> None:
        self._pending: list[_ManualTimer] = []

    def call_later(
        self, _seconds: float, callback: Callable[[str], None], argument: str
    ) -> _ManualTimer:
        """Have a callback called by the next `run_all`."""
        timer = _ManualTimer(self._pending, callback, argument)
        self._pending.append(timer)
        return timer

    def run_all(self) -> None:
        """Call every callback whose timer was not cancelled, as if its time were over."""
        for timer in self._pending.copy():
            timer.run()


class _ManualTimer:
    def __init__(
        self, pending: list[_ManualTimer], callback: Callable[[str], None], argument: str
    ) -> None:
        self._pending = pending
        self._callback = callback
        self._argument = argument

    def run(self) -> None:
        self.cancel()
        self._callback(self._argument)

    def cancel(self) -> None:
        if self in self._pending:
            self._pending.remove(self)
