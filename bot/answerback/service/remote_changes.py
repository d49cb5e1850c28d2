"""What other processes with the same store commit: whoever waits for it in this process is woken.

The store tells of each change (`answerback.ports.claims.Claims.listen`). What it could not tell is found by reading the
revisions of everything that is waited for: after each new connection, and every few seconds.
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

_EVERY: Final = 5.0
"""Seconds between two looks for what no notification told."""
_GRACE: Final = 0.5
"""Seconds that a notification may take: what was not told by then was lost."""
_AT_ONCE: Final = 5_000
"""Asks whose revisions one query reads."""


class RemoteChangeListener:
    """Hears of other processes' commits, and passes them on.

    Args:
        listeners: the agents that wait in this process.
        surfaces: the names of the surfaces whose asks may be followed.
        moved_on: is told of every ask that another process changed.
        every: seconds between two looks for what no notification told.
    """

    def __init__(
        self,
        store: Store,
        signals: Signals,
        listeners: AgentPresence,
        surfaces: Collection[str] = (),
        *,
        on_remote_change: Callable[[str], None] = lambda _ask_id: None,
        every: float = _EVERY,
    ) -> None:
        self._store = store
        self._signals = signals
        self._surfaces = frozenset(surfaces)
        self._listeners = listeners
        self._moved_on = on_remote_change
        self._every = every
        self._changed: dict[str, None] = {}
        self._told = asyncio.Event()
        self._lost = asyncio.Event()
        self._heard_at = time.monotonic()
        self.missed_count = 0
        """How many wakings a notification should have brought, and the look every few seconds did."""

    @property
    def seconds_since_notification(self) -> float:
        """Seconds since a notification was heard, or since the start."""
        return time.monotonic() - self._heard_at

    def handle_notification(self, ask_id: str | None) -> None:
        """Takes in what the store tells: an ask that was changed; None: news may have been lost."""
        if ask_id is None:
            self._lost.set()
            return
        self._heard_at = time.monotonic()
        self._changed[ask_id] = None
        self._told.set()

    async def dispatch_changes(self) -> None:
        """Wakes who waits for what was heard; runs until cancelled."""
        while True:
            await self._told.wait()
            self._told.clear()
            changed, self._changed = self._changed, {}
            for ask_id in changed:
                self._moved_on(ask_id)
                followed = not self._signals.followed.isdisjoint({ask_id} | self._surfaces)
                if followed or self._listeners.has_waiter(ask_id):
                    await self._wake(ask_id)

    async def poll_missed_changes(self) -> None:
        """Finds what was not told; runs until cancelled."""
        while True:
            lost = False
            with suppress(TimeoutError):
                async with asyncio.timeout(self._every):
                    lost = await self._lost.wait()
            self._lost.clear()
            try:
                await self._look(lost=lost)
            except StoreError as error:
                extra = {"action": "hearing"}
                logger.warning("What others changed is looked for later: %s", error, extra=extra)

    async def _look(self, *, lost: bool) -> None:
        behind = await self._behind()
        if behind and not lost:
            await asyncio.sleep(_GRACE)
            behind = await self._behind()
        for ask_id, revision in behind.items():
            missed = [
                one for one in self._signals.behind(ask_id, revision) if one.known is not None
            ]
            self.missed_count += bool(missed) and not lost
            await self._wake(ask_id)
        if lost:
            await self._wake_surfaces()

    async def _behind(self) -> dict[str, int]:
        """The asks that have moved on from what those know who wait for them, with their revisions."""
        behind: dict[str, int] = {}
        followed = [what for what in self._signals.followed if what not in self._surfaces]
        for first in range(0, len(followed), _AT_ONCE):
            revisions = await self._store.revisions(followed[first : first + _AT_ONCE])
            behind |= {
                ask_id: revision
                for ask_id, revision in revisions.items()
                if any(self._signals.behind(ask_id, revision))
            }
        return behind

    async def _wake(self, ask_id: str) -> None:
        try:
            ask = await self._store.get(ask_id)
        except StoreError as error:  # the next look finds it
            extra = {"action": "hearing", "ask_id": ask_id}
            logger.warning("What another process changed cannot be read: %s", error, extra=extra)
            return
        if ask is not None:
            self._signals.notify(ask)
            await self._listeners.handle_remote_change(ask)

    async def _wake_surfaces(self) -> None:
        """Whoever follows all asks of a surface looks at them again."""
        for surface in self._surfaces.intersection(self._signals.followed):
            for ask in (await self._store.page(surface=surface, limit=1)).rows:
                self._signals.notify(ask)
