"""What one process at a time does, of those that share a store: it holds a named lease, and the others stand by.

Whoever loses the lease stops at once. What it has in hand is fenced: the store refuses what is done under a lease that
is over or another's, so a process that was paused and woken changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final, cast

from answerback.core.errors import StoreError
from answerback.core.intents import Intent
from answerback.ports.claims import Claim, Fence, SharedClaims
from answerback.ports.surface import Acted, Actor, Asks, Rejected

logger = logging.getLogger(__name__)

LEASE: Final = 15.0
"""Seconds after which another process takes over from one that died."""
RENEWALS: Final = 3
"""How often the lease is renewed in its time."""
_STANDING_BY: Final = 2.0
"""Seconds between two tries to take the lease."""
_END_WITHIN: Final = 5.0
"""Seconds that stopping may take: whoever does not stop by then is fenced all the same."""


class LeaderLease:
    """Takes a lease whenever it is free, and keeps it.

    Args:
        name: the lease's.
        begin: is called with every new holding of the lease.
        end: is called when it is lost; returns once nothing more comes in.
        seconds: how long the lease lasts.
    """

    def __init__(
        self,
        shared: SharedClaims,
        name: str,
        begin: Callable[[], Coroutine[Any, Any, None]],
        end: Callable[[], Coroutine[Any, Any, None]],
        *,
        seconds: float = LEASE,
    ) -> None:
        self._store, holder = shared
        self._claim = Claim(holder, seconds)
        self._name = name
        self._begin = begin
        self._end = end
        self._epoch = 0
        self._until = float("-inf")
        self._beginning: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_held(self) -> bool:
        """Whether the lease is surely this process's."""
        return asyncio.get_running_loop().time() < self._until

    def fence(self) -> Fence:
        """What the holder acts under."""
        return Fence(self._name, self._epoch)

    async def start(self) -> None:
        """Takes the lease if it is free, and returns once what that begins has begun."""
        await self._look()
        self._task = asyncio.create_task(self._run(), name=f"lease {self._name}")
        if self._beginning is not None:
            await asyncio.wait({self._beginning})

    async def stop(self) -> None:
        """Stops what the lease is for, and gives it back, so that another need not wait."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._epoch:
            await self._lose()
            try:
                await self._store.release_lease(self._name, self._claim.holder)
            except StoreError as error:
                self._warn("given back", error)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(
                self._claim.seconds / RENEWALS
                if self._epoch
                else min(_STANDING_BY, self._claim.seconds)
            )
            await self._look()

    async def _look(self) -> None:
        """Takes or renews the lease; stops where it is lost, or cannot be renewed in time."""
        loop = asyncio.get_running_loop()
        since = loop.time()
        try:
            async with asyncio.timeout_at(self._until if self._epoch else None):
                epoch = await self._store.lease(self._name, self._claim)
        except StoreError as error:
            self._warn("renewed" if self._epoch else "taken", error)
            if self._epoch and not self.is_held:
                await self._lose()
            return
        except TimeoutError:
            await self._lose()
            return
        if epoch == self._epoch:
            self._until = since + self._claim.seconds
            return
        if self._epoch:
            await self._lose()
        if epoch is not None:
            self._epoch, self._until = epoch, since + self._claim.seconds
            logger.info(
                "This process holds the lease %s", self._name, extra={"action": "lease_held"}
            )
            self._beginning = asyncio.create_task(self._begin(), name=f"begin {self._name}")

    async def _lose(self) -> None:
        self._until = float("-inf")
        logger.warning(
            "The lease %s is not held any more", self._name, extra={"action": "lease_lost"}
        )
        if self._beginning is not None:
            self._beginning.cancel()
            await asyncio.gather(self._beginning, return_exceptions=True)
        try:
            async with asyncio.timeout(_END_WITHIN):
                await self._end()
        except TimeoutError:
            logger.warning("Stopping takes long", extra={"action": "lease_lost"})
        self._epoch = 0

    def _warn(self, done: str, error: StoreError) -> None:
        extra = {"action": "lease"}
        logger.warning("The lease %s cannot be %s now: %s", self._name, done, error, extra=extra)


class _Fenced:
    """The service, for whoever acts under a lease."""

    def __init__(self, asks: Asks, fence: Callable[[], Fence]) -> None:
        self._asks = asks
        self._fence = fence

    async def apply(self, intent: Intent, actor: Actor) -> Acted | Rejected:
        """See `Asks.apply`."""
        return await self._asks.apply(intent, actor, fence=self._fence())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._asks, name)


def with_fence(asks: Asks, fence: Callable[[], Fence]) -> Asks:
    """The service, which refuses with LeaseLostError what is done once the lease is lost."""
    return cast("Asks", _Fenced(asks, fence))
