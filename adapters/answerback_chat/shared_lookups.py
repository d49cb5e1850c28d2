"""What is looked up at a platform: one time only for all who wait for it, and given up at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SharedLookups(Generic[K, V]):
    """The lookups that are under way, and those that are kept.

    Args:
        name: what is looked up, for the names of the tasks.
        look: looks one up.
        done: told of each that is over; for how many seconds it is kept, and found by who asks again.
    """

    def __init__(
        self,
        name: str,
        look: Callable[[K], Coroutine[Any, Any, V]],
        done: Callable[[asyncio.Task[V]], float],
    ) -> None:
        self._name = name
        self._look = look
        self._done = done
        self._tasks: dict[K, asyncio.Task[V]] = {}

    def start(self, key: K) -> asyncio.Task[V]:
        """The lookup of a key: the one that is under way or kept, or a new one."""
        task = self._tasks.get(key)
        if task is None:
            task = asyncio.create_task(self._look(key), name=f"{self._name} {key}")
            self._tasks[key] = task
            task.add_done_callback(lambda over: self._over(key, over))
        return task

    async def get(self, key: K) -> V:
        """What is found; who stops waiting leaves it to the others."""
        return await asyncio.shield(self.start(key))

    async def stop(self) -> None:
        """Gives up what is being looked up."""
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _over(self, key: K, task: asyncio.Task[V]) -> None:
        kept = 0.0 if task.cancelled() else self._done(task)
        if kept:
            task.get_loop().call_later(kept, self._tasks.pop, key, None)
        else:
            self._tasks.pop(key, None)
