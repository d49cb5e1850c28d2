"""Trying again, a few times, what failed and may not fail again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from answerback.core.errors import (
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    StoreError,
)
from answerback_client.backoff import Backoff

T = TypeVar("T")

_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 3.0
_LONGEST_LIMIT: Final = 10.0
"""Seconds for which a platform's limit is waited for, however long it lasts."""
_TRIES: Final = 4


def _passing(error: Exception) -> float | None:
    """How long to wait before a failure may have passed, at the least; None where it will not pass."""
    if isinstance(error, RateLimitedError):
        return min(error.retry_after, _LONGEST_LIMIT)
    return 0.0 if isinstance(error, (PlatformUnavailableError, StoreError)) else None


async def retry(
    work: Callable[[], Awaitable[T]],
    *,
    passing: Callable[[Exception], float | None] = _passing,
    backoff: Backoff | None = None,
    tries: int = _TRIES,
) -> T:
    """What ``work`` gives, tried again while the platform or the database cannot be had; a limit's pause is kept.

    Args:
        passing: says of a failure how long to wait before the next try, at the least; None: it is not tried again.

    Raises:
        PlatformError: it failed for good, or once too often.
        StoreError: so did the database.
    """
    backoff = backoff or Backoff(_FIRST_PAUSE, _LONGEST_PAUSE, factor=4.0)
    for _ in range(tries - 1):
        try:
            return await work()
        except (PlatformError, StoreError) as error:
            if (least := passing(error)) is None:
                raise
        await backoff.wait(least)
    return await work()
