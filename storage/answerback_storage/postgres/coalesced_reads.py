"""Reads that many ask for at the same time, as one statement: whoever asks while it runs shares the next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_KEYS: Final = 64
"""Keys that one statement asks for, at the most."""


class CoalescedReads(Generic[K, V]):
    """Looks keys up, one statement at a time.

    A key is read by a statement that begins after it was asked for, so nobody is told anything older than that.

    Args:
        read: reads what there is of these keys; one that is left out has nothing.
    """

    def __init__(self, read: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]]) -> None:
        self._read = read
        self._turn = asyncio.Lock()
        self._wanted: dict[K, None] = {}
        self._next: asyncio.Task[Mapping[K, V]] | None = None

    async def get(self, key: K) -> V | None:
        """What there is of a key now, or None. What makes the statement fail is raised to all who share it."""
        if self._next is None or len(self._wanted) >= MAX_KEYS:
            self._wanted = {}
            self._next = asyncio.create_task(self._look(self._wanted))
        self._wanted[key] = None
        return (await asyncio.shield(self._next)).get(key)

    async def _look(self, wanted: Mapping[K, None]) -> Mapping[K, V]:
        async with self._turn:
            if wanted is self._wanted:
                self._next = None
            return await self._read(list(wanted))
