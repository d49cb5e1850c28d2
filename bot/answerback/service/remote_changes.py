"""Changes committed by other processes that share the store: wakes the callers that wait for them in this process.

The store notifies of each change (`answerback.ports.claims.RemoteChanges.listen`). Changes without a notification are
found by reading the revisions of everything that is waited for, after each reconnection and every few seconds.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Final

from answerback.core.errors import StoreError
from answerback.ports.store import Store
from answerback.service.agent_presence import AgentPresence
from answerback.service.notify import Signals

logger = logging.getLogger(__name__)

_POLL_SECONDS: Final = 5.0
"""Seconds between two polls for changes without a notification."""
_NOTIFICATION_GRACE: Final = 0.5
"""Seconds that a notification may take; if it has not arrived by then, it was lost."""
_MAX_IDS_PER_QUERY: Final = 5_000
"""The number of asks whose revisions one query reads."""


class RemoteChangeListener:
    """Receives other processes' commits, and passes them on.

    Args:
        presence: the agents that wait in this process.
        surfaces: the names of the surfaces whose asks may be followed.
        on_remote_change: called with the id of every ask that another process changed.
        every: seconds between two polls for changes without a notification.
    """

    def __init__(
        self,
        store: Store,
        signals: Signals,
        presence: AgentPresence,
        surfaces: Collection[str] = (),
        *,
        on_remote_change: Callable[[str], None] = lambda _ask_id: None,
        every: float = _POLL_SECONDS,
    ) -> None:
        self._store = store
        self._signals = signals
        self._surfaces = frozenset(surfaces)
        self._presence = presence
        self._on_remote_change = on_remote_change
        self._every = every
        self._changed: dict[str, None] = {}
        self._notified = asyncio.Event()
        self._lost = asyncio.Event()
        self._notified_at = time.monotonic()
        self.missed_count = 0
        """The number of waiters that polling woke and that a notification should have woken."""

    @property
    def seconds_since_notification(self) -> float:
        """Seconds since the last notification, or since the start."""
        return time.monotonic() - self._notified_at

    def handle_notification(self, ask_id: str | None) -> None:
        """Accept a notification: the id of a changed ask, or None if notifications may have been lost."""
        if ask_id is None:
            self._lost.set()
            return
        self._notified_at = time.monotonic()
        self._changed[ask_id] = None
        self._notified.set()

    async def dispatch_changes(self) -> None:
        """Wake the callers that wait for the changed asks; runs until cancelled."""
        while True:
            await self._notified.wait()
            self._notified.clear()
            changed, self._changed = self._changed, {}
            for ask_id in changed:
                self._on_remote_change(ask_id)
                followed = not self._signals.followed.isdisjoint({ask_id} | self._surfaces)
                awaited = followed or self._presence.has_waiter(ask_id)
                if awaited and not await self._wake(ask_id):
                    self._lost.set()  # also its surface's followers have to look

    async def poll_missed_changes(self) -> None:
        """Find changes without a notification; runs until cancelled."""
        lost = False
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._every):
                    await self._lost.wait()
            lost |= self._lost.is_set()  # also if it was set just as the time was up
            self._lost.clear()
            try:
                await self._poll(lost=lost)
                lost = False
            except StoreError as error:
                extra = {"action": "hearing"}
                logger.warning(
                    "Could not check what other processes changed: %s", error, extra=extra
                )

    async def _poll(self, *, lost: bool) -> None:
        outdated = await self._find_outdated()
        if outdated and not lost:
            await asyncio.sleep(_NOTIFICATION_GRACE)
            outdated = await self._find_outdated()
        for ask_id, revision in outdated.items():
            unaware = [
                follower
                for follower in self._signals.behind(ask_id, revision)
                if follower.known is not None
            ]
            self.missed_count += bool(unaware) and not lost
            await self._wake(ask_id)
        if lost:
            await self._wake_surfaces()

    async def _find_outdated(self) -> dict[str, int]:
        """The asks whose waiters may not have seen the current revision, with those revisions."""
        outdated: dict[str, int] = {}
        followed = [what for what in self._signals.followed if what not in self._surfaces]
        for start in range(0, len(followed), _MAX_IDS_PER_QUERY):
            revisions = await self._store.changes.revisions(
                followed[start : start + _MAX_IDS_PER_QUERY]
            )
            outdated |= {
                ask_id: revision
                for ask_id, revision in revisions.items()
                if any(self._signals.behind(ask_id, revision))
            }
        return outdated

    async def _wake(self, ask_id: str) -> bool:
        """Notify of an ask that was changed; return whether it could be read."""
        try:
            ask = await self._store.asks.get(ask_id)
        except StoreError as error:
            extra = {"action": "hearing", "ask_id": ask_id}
            logger.warning("Could not read what another process changed: %s", error, extra=extra)
            return False
        if ask is not None:
            self._signals.notify(ask)
            await self._presence.handle_remote_change(ask)
        return True

    async def _wake_surfaces(self) -> None:
        """Make the followers of all asks of a surface look at them again."""
        for surface in self._surfaces.intersection(self._signals.followed):
            for ask in (await self._store.asks.page(surface=surface, limit=1)).rows:
                self._signals.notify(ask)
