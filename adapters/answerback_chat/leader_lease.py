"""Leader election among processes that share a store: one holds a named lease, and the others stand by.

A process that loses the lease stops at once. Its work in progress is fenced: the store rejects changes under a lease
that has expired or passed to another process, so a process that was paused and resumed changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

from answerback.core.errors import StoreError
from answerback.ports.claims import Claim, Fence, SharedLeases

logger = logging.getLogger(__name__)

LEASE: Final = 15.0
"""Seconds after which another process takes over from one that died."""
RENEWALS: Final = 3
"""How often the lease is renewed within its duration."""
_STANDBY_INTERVAL: Final = 2.0
"""Seconds between two attempts to take the lease."""
_END_TIMEOUT: Final = 5.0
"""Seconds that stopping may take; work that has not stopped by then is fenced anyway."""


class Leadership(Protocol):
    """Whether this process does the work that only one of those with the same store does, and under which lease."""

    @property
    def is_shared(self) -> bool:
        """Whether other processes could do it."""

    @property
    def is_held(self) -> bool:
        """Whether this process certainly does it."""

    def fence(self) -> Fence | None:
        """Return the fence for what this process does as the leader; None if no other process could."""

    async def start(self) -> None:
        """Begin, now or once it is this process's turn."""

    async def stop(self) -> None:
        """End the work."""


def lead(
    shared: SharedLeases | None,
    name: str,
    begin: Callable[[], Coroutine[Any, Any, None]],
    end: Callable[[], Coroutine[Any, Any, None]],
) -> Leadership:
    """Create the leadership in the work that ``begin`` starts and ``end`` stops."""
    return SoleLeader(begin, end) if shared is None else LeaderLease(shared, name, begin, end)


class SoleLeader:
    """Always leads: no other process shares the store."""

    is_shared = False
    is_held = True

    def __init__(
        self,
        begin: Callable[[], Coroutine[Any, Any, None]],
        end: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        self.start = begin
        self.stop = end

    def fence(self) -> None:
        """Return None: there is no other process."""


class LeaderLease:
    """Takes a lease whenever it is free, and renews it.

    Args:
        name: the lease's name.
        begin: called each time the lease is acquired.
        end: called when it is lost; returns once no more events come in.
        seconds: the lease's duration.
    """

    is_shared = True

    def __init__(
        self,
        shared: SharedLeases,
        name: str,
        begin: Callable[[], Coroutine[Any, Any, None]],
        end: Callable[[], Coroutine[Any, Any, None]],
        *,
        seconds: float = LEASE,
    ) -> None:
        self._leases, holder = shared
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
        """Whether this process certainly holds the lease."""
        return asyncio.get_running_loop().time() < self._until

    def fence(self) -> Fence:
        """Return the fence for what this process does as the holder."""
        return Fence(self._name, self._epoch)

    async def start(self) -> None:
        """Take the lease if it is free; returns once ``begin`` has finished."""
        await self._take_or_renew()
        self._task = asyncio.create_task(self._run(), name=f"lease {self._name}")
        if self._beginning is not None:
            await asyncio.wait({self._beginning})

    async def stop(self) -> None:
        """Stop the work and release the lease, so that another process need not wait for it to expire."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._epoch:
            await self._lose()
            try:
                await self._leases.release(self._name, self._claim.holder)
            except StoreError as error:
                self._warn("released", error)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(
                self._claim.seconds / RENEWALS
                if self._epoch
                else min(_STANDBY_INTERVAL, self._claim.seconds)
            )
            await self._take_or_renew()

    async def _take_or_renew(self) -> None:
        """Take or renew the lease; stop the work if it is lost or cannot be renewed in time."""
        loop = asyncio.get_running_loop()
        since = loop.time()
        try:
            async with asyncio.timeout_at(self._until if self._epoch else None):
                epoch = await self._leases.take(self._name, self._claim)
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
            "This process no longer holds the lease %s", self._name, extra={"action": "lease_lost"}
        )
        if self._beginning is not None:
            self._beginning.cancel()
            await asyncio.gather(self._beginning, return_exceptions=True)
        try:
            async with asyncio.timeout(_END_TIMEOUT):
                await self._end()
        except TimeoutError:
            logger.warning("Stopping is taking too long", extra={"action": "lease_lost"})
        self._epoch = 0

    def _warn(self, done: str, error: StoreError) -> None:
        extra = {"action": "lease"}
        logger.warning("The lease %s cannot be %s now: %s", self._name, done, error, extra=extra)
