"""Tasks that outlive the acknowledgement of what set them off: never silent, and bounded where that is wanted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable

from answerback.core.errors import PlatformError

logger = logging.getLogger(__name__)


class BackgroundTasks:
    """What is under way.

    Args:
        most: tasks at one time, past which a further one is dropped; None: any number.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, what: str, work: Awaitable[object]) -> None:
        """Starts ``work``; its failure is logged under ``what``."""
        task = asyncio.ensure_future(self._run(what, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self._most is not None and len(self._tasks) > self._most:
            task.cancel()
            logger.error(
                "Too much is under way: a %s is dropped", what, extra={"action": "dropped"}
            )

    async def stop(self, seconds: float) -> None:
        """Lets what was begun be finished, for so long."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, what: str, work: Awaitable[object]) -> None:
        try:
            await work
        except PlatformError as error:
            extra = {"action": what, "code": error.code}
            logger.warning("A %s failed: %s", what, error, extra=extra)
        except Exception:  # a task's top: nobody waits for it who could be told
            logger.exception("A %s failed", what, extra={"action": what})
