"""The calls that a platform takes in a while, and the time until when it takes none: known before a call is made in
vain."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Final, TypeAlias

Window: TypeAlias = tuple[str, int, float]
"""A window of calls: its name, how many calls it takes, and its length in seconds."""
MAX_KEYS: Final = 10_000


class CallLimits:
    """The calls that count toward limits now, and the pauses that the platform asked for."""

    def __init__(self) -> None:
        self._closed_until: dict[str, float] = {}
        """In loop time, by key."""
        self._counted: dict[str, deque[float]] = {}
        """The times until which calls count, in loop time, by what they count toward."""

    def wait_for(self, key: str, windows: Iterable[Window]) -> float:
        """Return the seconds until a call is taken that counts toward these windows."""
        now = asyncio.get_running_loop().time()
        until = self._closed_until.get(key, now)
        for name, most, _ in windows:
            counted = self._counted.get(name, deque())
            while counted and counted[0] <= now:
                counted.popleft()
            if len(counted) >= most:
                until = max(until, counted[0])
        return max(until - now, 0.0)

    def has_room(self, windows: Iterable[Window], calls: int) -> bool:
        """Return True if this many calls are allowed now."""
        now = asyncio.get_running_loop().time()
        return all(
            sum(until > now for until in self._counted.get(name, ())) + calls <= most
            for name, most, _ in windows
        )

    def count(self, windows: Iterable[Window], calls: int = 1) -> None:
        now = asyncio.get_running_loop().time()
        if len(self._counted) >= MAX_KEYS:
            self._counted = {
                k: each for k, each in self._counted.items() if each and each[-1] > now
            }
        for name, _, seconds in windows:
            self._counted.setdefault(name, deque()).extend([now + seconds] * calls)

    def discount(self, windows: Iterable[Window], calls: int = 1) -> None:
        """Take back the last calls that were counted: the platform refused them, so they count toward nothing."""
        for name, _, _ in windows:
            counted = self._counted.get(name, deque())
            for _ in range(min(calls, len(counted))):
                counted.pop()

    def close(self, key: str, seconds: float) -> None:
        """Record that the platform takes none for so long."""
        now = asyncio.get_running_loop().time()
        if len(self._closed_until) >= MAX_KEYS:
            self._closed_until = {
                k: until for k, until in self._closed_until.items() if until > now
            }
        self._closed_until[key] = now + seconds
