"""Trying again, a few times, what failed and may not fail again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from answerback.core.errors import RateLimitedError, StoreError, UnavailableError

T = TypeVar("T")

_PAUSES: Final = (0.25, 1.0, 3.0)
"""Seconds before each further try."""
_LONGEST_PAUSE: Final = 10.0


async def insisting(work: Callable[[], Awaitable[T]]) -> T:
    """What ``work`` gives, tried again while the platform or the database cannot be had; a limit's pause is kept.

    Raises:
        PlatformError: it failed for good, or once too often.
        StoreError: so did the database.
    """
    for pause in _PAUSES:
        try:
            return await work()
        except RateLimitedError as error:
            await asyncio.sleep(min(max(error.retry_after, _PAUSES[0]), _LONGEST_PAUSE))
        except (UnavailableError, StoreError):
            await asyncio.sleep(pause)
    return await work()
