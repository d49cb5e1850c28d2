"""Erases the contents of asks that ended long ago, and deletes old webhooks and audit lines, if the operator wants
that."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from answerback.core.errors import UnreadableRowError
from answerback.ports.extension_rows import RowTable
from answerback.service.service import Service

logger = logging.getLogger(__name__)

_DAY: Final = 86_400.0
_BATCH: Final = 50
"""The number of asks that are listed at a time; each is erased in a separate transaction."""


@dataclass
class RetentionPolicy:
    """Decides what is kept, and for how long."""

    service: Service
    days: float | None
    """Days for which the contents of an ask are kept after its end, and webhooks after their last attempt; None: for
    ever."""
    audit_days: float | None
    """Days for which lines about refused calls are kept; None: for ever."""
    tables: Sequence[RowTable] = ()
    """The tables of extensions, which say how long their rows are kept."""
    _unreadable: set[str] = field(default_factory=set)
    """Asks that cannot be erased because they cannot be read; each is logged once."""

    async def enforce(self, now: float) -> None:
        """Erase and delete whatever is too old; other changes can be made in between."""
        store = self.service.store
        for table in self.tables:
            if table.days is not None:
                await store.rows.prune(table.name, now - table.days * _DAY)
        if self.audit_days is not None:
            await store.maintenance.prune_audit(now - self.audit_days * _DAY)
        if self.days is None:
            return
        before, erased = now - self.days * _DAY, 0
        await store.maintenance.prune_deliveries(before)
        while ask_ids := await self._find_erasable(before):
            for ask_id in ask_ids:
                erased += await self._erase(ask_id)
        if erased:
            await store.erasure.scrub()
            extra = {"action": "retention", "count": erased}
            logger.info("Erased the contents of old asks", extra=extra)

    async def _find_erasable(self, before: float) -> list[str]:
        limit = _BATCH + len(self._unreadable)
        ask_ids = await self.service.store.erasure.list_erasable(before, limit)
        return [ask_id for ask_id in ask_ids if ask_id not in self._unreadable]

    async def _erase(self, ask_id: str) -> bool:
        try:
            await self.service.erase(ask_id)
        except UnreadableRowError as error:
            extra = {"action": "retention", "ask_id": ask_id}
            logger.error("An old ask cannot be erased: %s", error, extra=extra)  # noqa: TRY400 the trace quotes it
            self._unreadable.add(ask_id)
            return False
        return True
