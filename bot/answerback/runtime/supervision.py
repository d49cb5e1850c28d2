"""Background loops that outlive their own crashes: logged, and started again after a growing pause."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from answerback_client.backoff import Backoff

logger = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 60.0
_SOUND: Final = 300.0
"""Seconds after which a loop that crashes is taken to have been sound until then."""


async def run_supervised(
    name: str, run: Callable[[], Awaitable[None]], *, first_pause: float = _FIRST_PAUSE
) -> None:
    """Runs a loop until cancelled, over and over if it crashes or returns."""
    loop = asyncio.get_running_loop()
    backoff = Backoff(first_pause, _LONGEST_PAUSE)
    while True:
        began = loop.time()
        try:
            await run()
            logger.error("A background loop ended by itself", extra={"loop": name})
        except Exception:  # a loop top: what crashed is logged and started again
            logger.exception("A background loop crashed", extra={"loop": name})
        if loop.time() - began > _SOUND:
            backoff.reset()
        await backoff.wait()
