"""A clock that a test can advance, and a bell that rings on every change, so that no test has to sleep and poll."""

import asyncio
import time
from collections.abc import Callable


class Bell:
    """Rings whenever the fake's state changes; waiters then check their condition again."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Event, None] = {}

    def ring(self) -> None:
        """Notify all waiters that something has changed."""
        for event in self._waiting:
            event.set()

    async def until(self, holds: Callable[[], bool], *, timeout: float | None = 60.0) -> None:
        """Return once `holds()` is true; TimeoutError after `timeout` real seconds (None: never)."""
        event = asyncio.Event()
        self._waiting[event] = None
        try:
            async with asyncio.timeout(timeout):
                while not holds():
                    event.clear()
                    await event.wait()
        finally:
            del self._waiting[event]


class Clock:
    """Seconds since 1970; runs by itself and can be advanced."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._moved = Bell()

    def now(self) -> float:
        """The current time, as the fake sees it."""
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        """Advance the clock by this many seconds."""
        self._ahead += seconds
        self._moved.ring()

    async def sleep_until(self, moment: float) -> None:
        """Return when this time is reached, by running or by `advance`."""
        while (left := moment - self.now()) > 0:
            before = self._ahead
            try:
                await self._moved.until(lambda seen=before: self._ahead != seen, timeout=left)  # type: ignore[misc]
            except TimeoutError:
                continue
