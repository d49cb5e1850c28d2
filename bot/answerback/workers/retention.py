"""Erasing what was said in asks that ended long ago, and forgetting old audit lines, where the operator wants that."""

from __future__ import annotations

import logging
from typing import Final

from answerback.core.errors import UnreadableRowError
from answerback.service.service import Service

logger = logging.getLogger(__name__)

_DAY: Final = 86_400.0
_BATCH: Final = 50
"""Asks that are looked for at a time; each is erased in a transaction of its own."""


class RetentionPolicy:
    """What is kept for how long.

    Args:
        days: how long what was written in an ask is kept after its end; None: for ever.
        audit_days: how long lines about refused calls are kept; None: for ever.
    """

    def __init__(self, service: Service, days: float | None, audit_days: float | None) -> None:
        self._service = service
        self._days = days
        self._audit_days = audit_days
        self._unreadable: set[str] = set()
        """Asks that cannot be erased, because they cannot be read: logged once."""

    async def enforce(self, now: float) -> None:
        """Erases and forgets what is older; everybody else's changes go on in between."""
        store = self._service.store
        if self._audit_days is not None:
            await store.prune_audit(now - self._audit_days * _DAY)
        if self._days is None:
            return
        before, erased = now - self._days * _DAY, 0
        while found := await self._old(before):
            for ask_id in found:
                erased += await self._erase(ask_id)
        if erased:
            await store.scrub_erased()
            extra = {"action": "retention", "count": erased}
            logger.info("What was said in old asks was erased", extra=extra)

    async def _old(self, before: float) -> list[str]:
        most = _BATCH + len(self._unreadable)
        found = await self._service.store.list_erasable(before, most)
        return [ask_id for ask_id in found if ask_id not in self._unreadable]

    async def _erase(self, ask_id: str) -> bool:
        try:
            await self._service.erase(ask_id)
        except UnreadableRowError as error:
            extra = {"action": "retention", "ask_id": ask_id}
            logger.error("An old ask cannot be erased: %s", error, extra=extra)  # noqa: TRY400 the trace quotes it
            self._unreadable.add(ask_id)
            return False
        return True
