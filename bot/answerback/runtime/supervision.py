"""Keep background loops running: crashes are logged, and the loop is restarted after a growing pause."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from answerback_base.backoff import Backoff

logger = logging.getLogger(__name__)

_LONGEST_PAUSE: Final = 60.0


async def run_supervised(
    name: str,
    run: Callable[[], Awaitable[None]],
    *,
    first_pause: float = 0.5,
    stable: float = 300.0,
) -> None:
    """Run a loop until cancelled; restart it if it crashes or returns.

    Args:
        stable: the seconds it must have run before a crash for the pause to start small again.
    """
    loop = asyncio.get_running_loop()
    backoff = Backoff(first_pause, _LONGEST_PAUSE)
    while True:
        started = loop.time()
        try:
            await run()
            logger.error("A background loop returned unexpectedly", extra={"loop": name})
        except Exception:  # the outermost handler: the crash is logged and the loop restarted
            logger.exception("A background loop crashed", extra={"loop": name})
        if loop.time() - started > stable:
            backoff.reset()
        await backoff.wait()
