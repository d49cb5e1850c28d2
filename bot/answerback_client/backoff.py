"""Back-off: the growing pauses between tries of what may work later.

The only one in the project. It lives with the client, because the client may import nothing of the service.
"""

from __future__ import annotations

import asyncio
import random
from typing import Final

_JITTER: Final = 0.25
"""By how much of itself a pause may be longer, so that those who failed together do not all come back together."""
_MOST_FAILURES: Final = 64
"""Failures after which a pause grows no more, whatever its bound: a float holds no larger power."""


class Backoff:
    """Pauses that grow with each failure.

    Args:
        first: seconds of the first pause.
        longest: seconds that no pause grows past, but for the jitter.
        factor: by how much a pause is longer than the one before it.
    """

    __slots__ = ("_factor", "_failures", "_first", "_longest")

    def __init__(self, first: float, longest: float, factor: float = 2.0) -> None:
        self._first = first
        self._longest = longest
        self._factor = factor
        self._failures = 0

    def reset(self) -> None:
        """It worked: the next pause is the first one again."""
        self._failures = 0

    def delay_after(self, failures: int) -> float:
        """The seconds to wait when it has failed once more after so many failures."""
        grown = self._first * self._factor ** min(failures, _MOST_FAILURES)
        return min(grown, self._longest) * random.uniform(1.0, 1.0 + _JITTER)

    def next_delay(self) -> float:
        """The seconds to wait now."""
        self._failures += 1
        return self.delay_after(self._failures - 1)

    async def wait(self, least: float = 0.0) -> None:
        """Waits for the next pause, and for ``least`` seconds in any case: a platform may have said how long."""
        await asyncio.sleep(max(self.next_delay(), least))
