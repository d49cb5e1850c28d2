"""The pauses that platforms' rate limits ask for, kept in memory by stores that belong to a single process."""

from __future__ import annotations

import time


class RateLimitPauses:
    """Two methods of `answerback.ports.claims.Claims`. A restart forgets the pauses; the next 429 restores them."""

    def __init__(self) -> None:
        self._not_before: dict[str, float] = {}

    async def set_retry_after(self, bucket: str, seconds: float) -> None:
        """Send nothing to this rate-limit bucket for at least the given number of seconds."""
        now = time.monotonic()
        self._not_before = {name: at for name, at in self._not_before.items() if at > now}
        self._not_before[bucket] = max(now + seconds, self._not_before.get(bucket, 0.0))

    async def get_retry_after(self, bucket: str) -> float:
        """Return the seconds for which a bucket must still be left alone."""
        return max(self._not_before.get(bucket, 0.0) - time.monotonic(), 0.0)
