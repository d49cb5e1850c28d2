"""Deletes and erases what is no longer kept, in loops of its own: neither a deadline nor a message waits for them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from answerback.core.errors import StoreError
from answerback.core.files import CLAIM_SECONDS
from answerback.service.service import Service
from answerback.workers.retention import RetentionPolicy

logger = logging.getLogger(__name__)

_UPLOADS_INTERVAL: Final = 60.0
_INTERVAL: Final = 3_600.0
_KEEP_SECONDS: Final = 7 * 86_400.0
"""Seconds for which delivery ids, idempotency keys, remembered answers and drafts are kept."""


@dataclass(frozen=True)
class Housekeeping:
    """The loops that delete and erase. None waits for another, or stops if another fails."""

    service: Service
    retention: RetentionPolicy

    def loops(self) -> Iterator[tuple[str, Callable[[], Awaitable[None]]]]:
        """Yield what runs in the background, with a name for each."""
        kinds: tuple[tuple[str, float, Callable[[], Awaitable[object]]], ...] = (
            ("uploads", _UPLOADS_INTERVAL, self._prune_uploads),
            ("pruning", _INTERVAL, self._prune),
            ("remains", _INTERVAL, self.service.store.files.delete_remains),
            ("retention", _INTERVAL, self._enforce_retention),
        )
        for name, interval, work in kinds:
            yield name, partial(self._repeat, name, interval, work)

    async def _repeat(
        self, name: str, interval: float, work: Callable[[], Awaitable[object]]
    ) -> None:
        """Do one kind of work again and again, whether or not it fails."""
        while True:
            try:
                await work()
            except StoreError as error:
                extra = {"action": "housekeeping_failed", "loop": name}
                logger.warning("Housekeeping has failed and is tried later: %s", error, extra=extra)
            await self.service.clock.sleep(interval)

    async def _prune_uploads(self) -> None:
        await self.service.store.files.prune(self.service.clock.now() - CLAIM_SECONDS)

    async def _prune(self) -> None:
        await self.service.store.maintenance.prune(self.service.clock.now() - _KEEP_SECONDS)

    async def _enforce_retention(self) -> None:
        await self.retention.enforce(self.service.clock.now())
