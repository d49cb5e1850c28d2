"""Retry calls that failed for a temporary reason, a few times."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from answerback.core.errors import (
    LeaseLostError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    StoreError,
)
from answerback_base.backoff import Backoff

logger = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 3.0
_MAX_RATE_LIMIT_WAIT: Final = 10.0
"""Seconds to wait at most for a platform's rate limit, however long it lasts."""
_TRIES: Final = 4


def min_retry_delay(error: Exception) -> float | None:
    """The minimum delay before a retry; None if the failure is permanent."""
    if isinstance(error, RateLimitedError):
        return min(error.retry_after, _MAX_RATE_LIMIT_WAIT)
    if isinstance(error, LeaseLostError):
        return None
    return 0.0 if isinstance(error, (PlatformUnavailableError, StoreError)) else None


async def retry(
    work: Callable[[], Awaitable[T]],
    *,
    passing: Callable[[Exception], float | None] = min_retry_delay,
    backoff: Backoff | None = None,
    tries: int = _TRIES,
) -> T:
    """Return what ``work`` returns, retrying while the platform or database is unavailable; respects rate limits.

    Args:
        passing: returns the minimum delay before the next try after a failure; None: do not retry.

    Raises:
        PlatformError: the platform failed permanently, or on every try.
        StoreError: the database did.
    """
    backoff = backoff or Backoff(_FIRST_PAUSE, _LONGEST_PAUSE, factor=4.0)
    for _ in range(tries - 1):
        try:
            return await work()
        except (PlatformError, StoreError) as error:
            if (min_delay := passing(error)) is None:
                raise
        await backoff.wait(min_delay)
    return await work()


async def handle_event(
    platform: str, work: Callable[[], Awaitable[None]], tries: int = _TRIES
) -> None:
    """Handle an event of a platform that does not send it again; a failure is logged."""
    try:
        await retry(work, tries=tries)
    except (PlatformError, StoreError) as error:
        extra = {
            "action": "event_missed",
            "platform": platform,
            "code": getattr(error, "code", None),
        }
        text = "An event of %s could not be handled; its effect is noticed once a person acts: %s"
        logger.warning(text, platform, error, extra=extra)
