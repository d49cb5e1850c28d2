"""Lookups at a platform that are shared by everyone waiting for the same key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(eq=False)
class CoalescedLookups(Generic[K, V]):
    """The lookups in progress, and the results that are still cached.

    Args:
        name: what is looked up, for the names of the tasks.
        lookup: looks up one key.
        done: called with each finished lookup; returns the number of seconds to cache it for.
    """

    name: str
    lookup: Callable[[K], Coroutine[Any, Any, V]]
    done: Callable[[asyncio.Task[V]], float]

    def __post_init__(self) -> None:
        self._tasks: dict[K, asyncio.Task[V]] = {}

    def start(self, key: K) -> asyncio.Task[V]:
        """Return the lookup of a key: the one in progress or cached, or else a new one."""
        task = self._tasks.get(key)
        if task is None:
            task = asyncio.create_task(self.lookup(key), name=f"{self.name} {key}")
            self._tasks[key] = task
            task.add_done_callback(lambda done: self._on_done(key, done))
        return task

    async def get(self, key: K) -> V:
        """Wait for a key's result; a caller that is cancelled does not cancel the lookup for the others."""
        return await asyncio.shield(self.start(key))

    async def get_fresh(self, key: K) -> V:
        """Wait for a lookup that starts after this call; everyone who calls during a lookup shares the next one."""
        if (running := self._tasks.get(key)) is not None:
            await asyncio.wait([running])
        return await self.get(key)

    async def stop(self) -> None:
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_done(self, key: K, task: asyncio.Task[V]) -> None:
        ttl = 0.0 if task.cancelled() else self.done(task)
        if ttl:
            task.get_loop().call_later(ttl, self._tasks.pop, key, None)
        else:
            self._tasks.pop(key, None)
