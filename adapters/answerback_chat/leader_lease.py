"""Leader election among processes that share a store: one holds a named lease, and the others stand by.

A process that loses the lease stops at once. Its work in progress is fenced: the store rejects changes under a lease
that has expired or passed to another process, so a process that was paused and resumed changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from answerback.core.errors import StoreError
from answerback.ports.claims import Claim, Fence, SharedLeases
from answerback_chat.background_tasks import BackgroundTasks

logger = logging.getLogger(__name__)

LEASE: Final = 15.0
"""Seconds after which another process takes over from one that died."""
RENEWALS: Final = 3
"""Times that the lease is renewed within its duration."""
_STANDBY_INTERVAL: Final = 2.0
"""Seconds between two attempts to take the lease."""
_END_TIMEOUT: Final = 5.0
"""Seconds that stopping may take; work that has not stopped by then is fenced anyway."""


@dataclass(eq=False)
class LeaderLease:
    """Takes a lease whenever it is free, and renews it. A process that has its store to itself leads without one.

    Args:
        shared: the leases shared with other processes; None if there are no others.
        name: the lease's name.
        begin: called each time the lease is acquired.
        end: called when it is lost; returns once no more events come in.
        seconds: the lease's duration.
    """

    shared: SharedLeases | None
    name: str
    begin: Callable[[], Coroutine[Any, Any, None]]
    end: Callable[[], Coroutine[Any, Any, None]]
    seconds: float = LEASE

    def __post_init__(self) -> None:
        self._epoch = 0
        self._until = float("-inf")
        self._beginning: set[asyncio.Task[None]] = set()
        """The task that began the work last; none before the lease was first held."""
        self._renewing = BackgroundTasks()
        self._stopping = asyncio.Event()

    @property
    def is_shared(self) -> bool:
        """True if another process could hold the lease."""
        return self.shared is not None

    @property
    def is_held(self) -> bool:
        """True if this process certainly leads."""
        return self.shared is None or asyncio.get_running_loop().time() < self._until

    def fence(self) -> Fence | None:
        """Return the fence for what this process does as the holder; None if there are no other processes."""
        return None if self.shared is None else Fence(self.name, self._epoch)

    async def start(self) -> None:
        """Take the lease if it is free; returns once ``begin`` has finished."""
        if self.shared is None:
            await self.begin()
            return
        self._stopping.clear()
        await self._take_or_renew(self.shared)
        self._renewing.spawn(f"lease {self.name}", self._run(self.shared))
        if self._beginning:
            await asyncio.wait(self._beginning)

    async def stop(self) -> None:
        """Stop the work and release the lease, so that another process need not wait for it to expire."""
        if self.shared is None:
            await self.end()
            return
        self._stopping.set()
        # A renewal in progress could come after the release.
        await self._renewing.stop(_END_TIMEOUT)
        if self._epoch:
            await self._end_work()
            try:
                await self.shared.leases.release(self.name, self.shared.holder)
            except StoreError as error:
                self._warn("released", error)

    async def _run(self, shared: SharedLeases) -> None:
        while not self._stopping.is_set():
            pause = self.seconds / RENEWALS if self._epoch else _STANDBY_INTERVAL
            with suppress(TimeoutError):
                async with asyncio.timeout(min(pause, self.seconds)):
                    await self._stopping.wait()
                    return
            await self._take_or_renew(shared)

    async def _take_or_renew(self, shared: SharedLeases) -> None:
        """Take or renew the lease; stop the work if it is lost or cannot be renewed in time."""
        loop = asyncio.get_running_loop()
        # Before the request, so that the lease never ends later here than in the store.
        since = loop.time()
        try:
            async with asyncio.timeout_at(self._until if self._epoch else None):
                claim = Claim(shared.holder, self.seconds)
                epoch = await shared.leases.take(self.name, claim)
        except StoreError as error:
            self._warn("renewed" if self._epoch else "taken", error)
            if self._epoch and not self.is_held:
                await self._lose()
            return
        except TimeoutError:
            await self._lose()
            return
        if epoch == self._epoch:
            self._until = since + self.seconds
            return
        if self._epoch:
            await self._lose()
        if epoch is not None:
            self._epoch, self._until = epoch, since + self.seconds
            logger.info(
                "This process holds the lease %s", self.name, extra={"action": "lease_held"}
            )
            self._beginning = {asyncio.create_task(self.begin(), name=f"begin {self.name}")}

    async def _lose(self) -> None:
        logger.warning(
            "This process no longer holds the lease %s", self.name, extra={"action": "lease_lost"}
        )
        await self._end_work()

    async def _end_work(self) -> None:
        self._until = float("-inf")  # first: nothing may begin as the holder from now on
        for beginning in self._beginning:
            beginning.cancel()
        await asyncio.gather(*self._beginning, return_exceptions=True)
        try:
            async with asyncio.timeout(_END_TIMEOUT):
                await self.end()
        except TimeoutError:
            logger.warning("Stopping is taking too long", extra={"action": "lease_lost"})
        self._epoch = 0

    def _warn(self, done: str, error: StoreError) -> None:
        extra = {"action": "lease"}
        logger.warning("The lease %s cannot be %s now: %s", self.name, done, error, extra=extra)
