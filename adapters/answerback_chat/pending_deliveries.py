"""The store of what people sent with files, from its acknowledgement until it is decided: no failure loses any of it.

A platform waits a few seconds for the acknowledgement, and reading files may take longer.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core.errors import StoreError
from answerback.ports.surface import Asks
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.control_codec import object_of
from answerback_chat.retry import retry

logger = logging.getLogger(__name__)

_TRIES: Final = 20
"""Times that the database is tried, as the platform does not send again what was acknowledged."""
_OUTAGE_PAUSE: Final = 15.0
"""Seconds until deliveries are looked for again while the database is unavailable."""


class PendingDeliveries:
    """The deliveries of one surface that are acknowledged and not decided yet, of all processes with the same store.

    Each is a draft. Another draft names them, each with its owner and until when that has it.

    Args:
        lease: the seconds after which another process takes over a delivery, and this one what it failed to decide.
        is_alone: true if no other process can decide any.
        sleep: waits for some seconds.
    """

    def __init__(
        self,
        asks: Asks,
        surface: str,
        now: Callable[[], float],
        lease: float,
        *,
        is_alone: bool,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._asks = asks
        self._index = f"{surface}:files"
        self._now = now
        self._lease = lease
        self.is_alone = is_alone
        self._sleep = sleep
        self._owner = secrets.token_hex(8)
        self._deciding: set[str] = set()
        self._resuming = asyncio.Lock()
        self._tasks = BackgroundTasks()

    async def read(self, key: str) -> JsonValue:
        """Return a delivery as it is kept, or None."""
        return await self._asks.draft(self._draft(key))

    async def change(self, key: str, change: Callable[[JsonValue], JsonValue]) -> JsonValue:
        """Keep what ``change`` makes of a delivery, and return that. One that is new is None, and so is one to forget.

        Args:
            key: with the ask's id between colons, if it is known: an erasure of the ask then forgets the delivery.

        Raises:
            StoreError: it is not kept, so it must not be acknowledged.
        """
        kept = await self._asks.change_draft(self._draft(key), change)
        if kept is None:
            await self.forget(key)
            return None
        await self._asks.change_draft(
            self._index, lambda draft: object_of(draft) | {key: self._mine()}
        )
        return kept

    async def forget(self, key: str) -> None:
        """Forget a delivery that is decided."""
        await self._asks.save_draft(self._draft(key), None)
        await self._asks.change_draft(self._index, lambda draft: _without(draft, key))

    async def decide(self, key: str, work: Callable[[], Awaitable[object]]) -> None:
        """Do the work that decides a delivery, and forget it. If the work fails, the delivery is left to `resume`."""
        self._deciding.add(key)
        try:
            await work()
            await retry(lambda: self.forget(key), tries=_TRIES)
        finally:
            self._deciding.discard(key)

    def resume(self, take: Callable[[str, JsonValue], object]) -> None:
        """Have ``take`` begin to decide what no process decides, now and whenever a lease ends, until `stop`."""
        self._tasks.spawn("pending deliveries", self._resume(take))

    async def stop(self) -> None:
        """Take over nothing more."""
        await self._tasks.stop(0.0)

    async def _resume(self, take: Callable[[str, JsonValue], object]) -> None:
        if self._resuming.locked():
            return
        async with self._resuming:
            while True:
                try:
                    await self._take_all(take)
                    pause = await self._seconds_until_next()
                except StoreError as error:
                    text = "What was sent with files is looked for again in %.0f s: %s"
                    logger.warning(text, _OUTAGE_PAUSE, error, extra={"action": "files_wait"})
                    pause = _OUTAGE_PAUSE
                await self._sleep(pause)

    async def _take_all(self, take: Callable[[str, JsonValue], object]) -> None:
        for key in await self._take_over():
            kept = await self.read(key)
            if kept is not None:
                take(key, kept)
            else:  # its ask was erased
                await self.forget(key)

    async def _take_over(self) -> Sequence[str]:
        """Return the keys of the deliveries that no process decides. They are this process's from now on."""
        taken: list[str] = []

        def take(draft: JsonValue) -> JsonValue:
            entries, now = object_of(draft), self._now()
            taken[:] = [key for key, each in entries.items() if self._left(key, each, now) <= 0]
            return (entries | dict.fromkeys(taken, self._mine())) or None

        if await self._asks.draft(self._index) is not None:
            await self._asks.change_draft(self._index, take)
        return taken

    async def _seconds_until_next(self) -> float:
        """Return in how many seconds the next delivery can be taken over."""
        entries, now = object_of(await self._asks.draft(self._index)), self._now()
        left = [self._left(key, each, now) for key, each in entries.items()]
        return min([self._lease, *left])

    def _mine(self) -> JsonValue:
        return [self._owner, self._now() + self._lease]

    def _left(self, key: str, entry: JsonValue, now: float) -> float:
        """Return the seconds for which a delivery is left to who decides it."""
        match entry:
            case [str(owner), float() | int() as until]:
                if key in self._deciding:
                    return self._lease
                is_of_dead = self.is_alone and owner != self._owner
                return 0.0 if is_of_dead else max(until - now, 0.0)
            case _:
                return 0.0

    def _draft(self, key: str) -> str:
        return f"{self._index}:{key}"


def _without(draft: JsonValue, key: str) -> JsonValue:
    return {name: entry for name, entry in object_of(draft).items() if name != key} or None
