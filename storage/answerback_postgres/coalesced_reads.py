"""Concurrent reads combined into one statement: callers that arrive while it runs share the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_KEYS: Final = 64
"""The most keys in one statement."""


class CoalescedReads(Generic[K, V]):
    """Looks up keys, one statement at a time.

    A key is read by a statement that starts after the request for it, so no caller gets a value older than its request.

    Args:
        read: reads the values of these keys. A key that is left out of the result has none.
    """

    def __init__(self, read: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]]) -> None:
        self._read = read
        self._turn = asyncio.Lock()
        self._pending_keys: dict[K, None] = {}
        self._next: asyncio.Task[Mapping[K, V]] | None = None

    async def get(self, key: K) -> V | None:
        """Return the current value of a key, or None. If the statement fails, all its callers get the error."""
        if self._next is None or len(self._pending_keys) >= MAX_KEYS:
            self._pending_keys = {}
            self._next = asyncio.create_task(self._read_batch(self._pending_keys))
        self._pending_keys[key] = None
        return (await asyncio.shield(self._next)).get(key)

    async def _read_batch(self, keys: Mapping[K, None]) -> Mapping[K, V]:
        async with self._turn:
            if keys is self._pending_keys:
                self._next = None  # later callers need a statement that starts later
            return await self._read(list(keys))
