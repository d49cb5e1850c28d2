"""Tasks that run on after the event that started them is acknowledged: failures are logged, numbers can be limited."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from answerback.core.errors import PlatformError

logger = logging.getLogger(__name__)


class BackgroundTasks:
    """The tasks in progress.

    Args:
        limit: concurrent tasks after which further ones are dropped; None: no limit.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, what: str, work: Coroutine[Any, Any, object]) -> None:
        """Start ``work``; a failure is logged under ``what``."""
        if self._is_full():
            work.close()  # it never starts, so nothing would await it
            extra = {"action": "dropped"}
            logger.error("Too many background tasks: a %s was dropped", what, extra=extra)
            return
        task = asyncio.create_task(self._run(what, work), name=what)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self, seconds: float) -> None:
        """Give running tasks this many seconds to finish, then cancel them."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _is_full(self) -> bool:
        if self._limit is None or len(self._tasks) < self._limit:
            return False
        # One that has just ended is still in the set until its callback is called.
        return sum(not task.done() for task in self._tasks) >= self._limit

    async def _run(self, what: str, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except PlatformError as error:
            extra = {"action": what, "code": error.code}
            logger.warning("A %s failed: %s", what, error, extra=extra)
        except Exception:  # the top of a task: there is no caller to report to
            logger.exception("A %s failed", what, extra={"action": what})
