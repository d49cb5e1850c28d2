"""Counts how often scheduled work of an ask has crashed: it is tried again after growing pauses, and then no more."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

FIRST_PAUSE: Final = 30.0
"""Seconds after the first crash; each later pause is twice as long."""
MAX_CRASHES: Final = 5
"""The crashes after which this process tries no more. A deadline is never given up: see `MAX_DEADLINE_CRASHES`."""
MAX_DEADLINE_CRASHES: Final = 3
"""The crashes at an ask's deadline after which it ends as expired, without its defaults."""
_LONGEST_PAUSE: Final = 3_600.0
MAX_KNOWN: Final = 10_000
"""The most crashes that are remembered; then the oldest are tried again."""


class Work(StrEnum):
    """Scheduled work, as far as its crashes are counted."""

    DEADLINE = "deadline"
    ESCALATION = "escalation"
    PRESENCE = "presence"
    REMINDER = "reminder"
    INQUIRY = "inquiry"


_NEVER_GIVEN_UP: Final = {Work.DEADLINE, Work.INQUIRY}
"""An open ask that nobody else would end or answer."""


class _Crashed(NamedTuple):
    times: int
    again: float
    """When to try again, in seconds since the epoch."""


class Crashes:
    """The crashes since the process began, by ask and kind of work."""

    def __init__(self, max_known: int = MAX_KNOWN) -> None:
        self._max_known = max_known
        self._known: dict[tuple[str, Work], _Crashed] = {}

    def record(self, ask_id: str, work: Work, now: float) -> int:
        """Note a crash; return how many there have been."""
        times = self.count(ask_id, work) + 1
        self._known.pop((ask_id, work), None)
        while len(self._known) >= self._max_known:
            del self._known[next(iter(self._known))]
        pause = min(FIRST_PAUSE * 2 ** (times - 1), _LONGEST_PAUSE)
        if work is Work.DEADLINE and times <= MAX_DEADLINE_CRASHES:
            pause = FIRST_PAUSE
        self._known[ask_id, work] = _Crashed(times, now + pause)
        return times

    def count(self, ask_id: str, work: Work) -> int:
        """Return how often this has crashed."""
        crashed = self._known.get((ask_id, work))
        return crashed.times if crashed else 0

    def may_try(self, ask_id: str, work: Work, now: float) -> bool:
        """Return True if this may be done now: it has not crashed lately, nor too often."""
        crashed = self._known.get((ask_id, work))
        return crashed is None or (now >= crashed.again and not _is_given_up(work, crashed))

    def forget(self, ask_id: str) -> None:
        """Forget the crashes of an ask, which has ended."""
        for work in Work:
            self._known.pop((ask_id, work), None)

    def clear(self) -> None:
        """Forget everything: the clock was set back."""
        self._known.clear()

    @property
    def ask_ids(self) -> set[str]:
        """The ids of the asks whose work has crashed."""
        return {ask_id for ask_id, _ in self._known}

    def next_attempts(self) -> list[float]:
        """Return when to try again, in seconds since the epoch."""
        known = self._known.items()
        return [each.again for (_, work), each in known if not _is_given_up(work, each)]


def _is_given_up(work: Work, crashed: _Crashed) -> bool:
    return crashed.times >= MAX_CRASHES and work not in _NEVER_GIVEN_UP
