"""How many calls a platform takes in a while, and until when it takes none: known before a call is made in vain."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Iterable
from typing import Final, TypeAlias

Window: TypeAlias = tuple[str, int, float]
"""What calls count toward, how many it takes, and in how many seconds."""
_MAX_KEYS: Final = 10_000


class CallLimits:
    """The calls made lately, and the pauses that the platform asked for."""

    def __init__(self) -> None:
        self._closed_until: dict[str, float] = {}
        """In loop time, by key."""
        self._made: dict[str, deque[float]] = {}

    def wait_for(self, key: str, windows: Iterable[Window]) -> float:
        """Return the seconds until a call is taken that counts toward these windows."""
        now = asyncio.get_running_loop().time()
        until = self._closed_until.get(key, now)
        for name, most, seconds in windows:
            made = self._made.get(name, deque())
            while made and made[0] <= now - seconds:
                made.popleft()
            if len(made) >= most:
                until = max(until, made[0] + seconds)
        return max(until - now, 0.0)

    def count(self, windows: Collection[Window]) -> None:
        """Count a call."""
        now = asyncio.get_running_loop().time()
        if len(self._made) >= _MAX_KEYS:
            since = now - max(seconds for _, _, seconds in windows)
            self._made = {k: made for k, made in self._made.items() if made and made[-1] > since}
        for name, _, _ in windows:
            self._made.setdefault(name, deque()).append(now)

    def close(self, key: str, seconds: float) -> None:
        """Record that the platform takes none for so long."""
        now = asyncio.get_running_loop().time()
        if len(self._closed_until) >= _MAX_KEYS:
            self._closed_until = {
                k: until for k, until in self._closed_until.items() if until > now
            }
        self._closed_until[key] = now + seconds
