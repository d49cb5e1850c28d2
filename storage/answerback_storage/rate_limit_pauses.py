"""The pauses that platforms' rate limits ask for, kept in memory by stores that belong to a single process."""

from __future__ import annotations

import time

from answerback.ports.claims import RateLimits


class RateLimitPauses(RateLimits):
    """Pauses by bucket. A restart forgets them; the next 429 restores them."""

    def __init__(self) -> None:
        self._not_before: dict[str, float] = {}

    async def set_retry_after(self, bucket: str, seconds: float) -> None:
        now = time.monotonic()
        self._not_before = {name: at for name, at in self._not_before.items() if at > now}
        self._not_before[bucket] = max(now + seconds, self._not_before.get(bucket, 0.0))

    async def get_retry_after(self, bucket: str) -> float:
        return max(self._not_before.get(bucket, 0.0) - time.monotonic(), 0.0)
