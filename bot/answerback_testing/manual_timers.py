"""Timers that run when a test says so: a slow machine does not let them run too early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class ManualTimers:
    """Give its ``call_later`` to what would use that of the event loop."""

    def __init__(self) -> None:
        self._pending: list[_ManualTimer] = []

    def call_later(
        self, _seconds: float, callback: Callable[[str], None], argument: str
    ) -> _ManualTimer:
        """Have a callback called by the next `run_all`."""
        self._pending.append(_ManualTimer(callback, argument))
        return self._pending[-1]

    def run_all(self) -> None:
        """Call every callback whose timer was not cancelled, as if its time were over."""
        due, self._pending = self._pending, []
        for timer in due:
            if not timer.is_cancelled:
                timer.callback(timer.argument)


@dataclass
class _ManualTimer:
    callback: Callable[[str], None]
    argument: str
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True
