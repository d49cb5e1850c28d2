"""Time that a test can move, and a bell that rings on every change, so that nobody has to sleep and look."""

import asyncio
import time
from collections.abc import Callable


class Bell:
    """Rings whenever the fake's state changes; whoever waits looks again."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Event] = set()

    def ring(self) -> None:
        """Tell everybody who waits that something is different now."""
        for event in self._waiting:
            event.set()

    async def until(self, holds: Callable[[], bool], *, timeout: float | None = 60.0) -> None:
        """Return once `holds()` is true; TimeoutError after `timeout` real seconds (None: never)."""
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            async with asyncio.timeout(timeout):
                while not holds():
                    event.clear()
                    await event.wait()
        finally:
            self._waiting.discard(event)


class Clock:
    """Seconds since 1970; runs by itself and can be advanced."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._moved = Bell()

    def now(self) -> float:
        """The present moment, as the fake sees it."""
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        """Let this many seconds pass at once."""
        self._ahead += seconds
        self._moved.ring()

    async def sleep_until(self, moment: float) -> None:
        """Return when the moment has come, by running or by `advance`."""
        while (left := moment - self.now()) > 0:
            before = self._ahead
            try:
                await self._moved.until(lambda seen=before: self._ahead != seen, timeout=left)  # type: ignore[misc]
            except TimeoutError:
                continue
