"""Erases the contents of asks that ended long ago, and deletes old webhooks and audit lines, if the operator wants
that."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from answerback.core.errors import StoreError, UnreadableRowError
from answerback.ports.claims import Claim
from answerback.ports.extension_rows import RowTable
from answerback.service.service import Service

logger = logging.getLogger(__name__)

_DAY: Final = 86_400.0
_BATCH: Final = 50
"""The number of asks that are listed at a time; each is erased in a separate transaction."""
_LEASE: Final = "retention"
"""The lease under which asks are erased: of processes that share a store, one at a time does it."""
_LEASE_SECONDS: Final = 300.0
"""Seconds of that lease, which is renewed for each batch."""
_PAUSE: Final = 1.0
"""Seconds until it is checked again whether many messages wait to be shown."""
_MAX_PAUSES: Final = 5
"""Pauses before each ask, so that a platform that is down does not keep others' asks in the database."""


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
    is_busy: Callable[[], bool] = lambda: False
    """Returns True while many messages wait to be shown: each erased ask adds one."""
    _unreadable: set[str] = field(default_factory=set)
    """Asks that cannot be erased because they cannot be read; each is logged once."""
    _may_have_traces: bool = True
    """True from before an erasure until the store is scrubbed. A process before this one may not have come to that."""

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
        before = now - self.days * _DAY
        await store.maintenance.prune_deliveries(before)
        try:
            await self._erase_older(before)
        except StoreError as error:
            extra = {"action": "retention"}
            logger.warning("Old asks will be erased later: %s", error, extra=extra)
        if self._may_have_traces:
            await self._scrub()

    async def _erase_older(self, before: float) -> None:
        erased = 0
        while (ask_ids := await self._find_erasable(before)) and await self._hold_lease():
            self._may_have_traces = True
            for ask_id in ask_ids:
                await self._let_messages_pass()
                erased += await self._erase(ask_id)
        if erased:
            extra = {"action": "retention", "count": erased}
            logger.info("Erased the contents of old asks", extra=extra)

    async def _scrub(self) -> None:
        try:
            await self.service.store.erasure.scrub()
        except StoreError as error:
            extra = {"action": "scrub_failed"}
            text = "Traces of erased asks are left, and will be removed later: %s"
            logger.warning(text, error, extra=extra)
        else:
            self._may_have_traces = False

    async def _find_erasable(self, before: float) -> list[str]:
        limit = _BATCH + len(self._unreadable)
        ask_ids = await self.service.store.erasure.list_erasable(before, limit)
        return [ask_id for ask_id in ask_ids if ask_id not in self._unreadable]

    async def _hold_lease(self) -> bool:
        """Take or renew the lease; return False if another process has it."""
        claim = Claim(self.service.claim.holder, _LEASE_SECONDS)
        return await self.service.store.leases.take(_LEASE, claim) is not None

    async def _let_messages_pass(self) -> None:
        """Pause while many messages wait to be shown, but not for long."""
        for _ in range(_MAX_PAUSES):
            if not self.is_busy():
                return
            await self.service.clock.sleep(_PAUSE)

    async def _erase(self, ask_id: str) -> bool:
        try:
            await self.service.erase(ask_id)
        except UnreadableRowError as error:
            extra = {"action": "retention", "ask_id": ask_id}
            logger.error("An old ask cannot be erased: %s", error, extra=extra)  # noqa: TRY400 the trace quotes it
            self._unreadable.add(ask_id)
            return False
        return True
