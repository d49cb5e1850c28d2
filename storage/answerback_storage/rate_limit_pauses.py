"""For how long platforms want to be left alone, kept in memory: of a store that belongs to one process."""

from __future__ import annotations

import time


class RateLimitPauses:
    """Two methods of `answerback.ports.claims.Claims`. A restart forgets the pauses; another 429 tells of them."""

    def __init__(self) -> None:
        self._not_before: dict[str, float] = {}

    async def set_retry_after(self, bucket: str, seconds: float) -> None:
        """Notes that a bucket of a platform's rate limits takes nothing for so long at least."""
        now = time.monotonic()
        self._not_before = {name: at for name, at in self._not_before.items() if at > now}
        self._not_before[bucket] = max(now + seconds, self._not_before.get(bucket, 0.0))

    async def get_retry_after(self, bucket: str) -> float:
        """The seconds for which a bucket still has to be left alone."""
        return max(self._not_before.get(bucket, 0.0) - time.monotonic(), 0.0)
