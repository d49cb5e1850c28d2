"""Keep background loops running: crashes are logged, and the loop is restarted after a growing pause."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from answerback_client.backoff import Backoff

logger = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 60.0
_STABLE_SECONDS: Final = 300.0
"""Seconds a loop must have run before a crash for the pause to start small again."""


async def run_supervised(
    name: str, run: Callable[[], Awaitable[None]], *, first_pause: float = _FIRST_PAUSE
) -> None:
    """Run a loop until cancelled; restart it if it crashes or returns."""
    loop = asyncio.get_running_loop()
    backoff = Backoff(first_pause, _LONGEST_PAUSE)
    while True:
        started = loop.time()
        try:
            await run()
            logger.error("A background loop returned unexpectedly", extra={"loop": name})
        except Exception:  # the outermost handler: the crash is logged and the loop restarted
            logger.exception("A background loop crashed", extra={"loop": name})
        if loop.time() - started > _STABLE_SECONDS:
            backoff.reset()
        await backoff.wait()
