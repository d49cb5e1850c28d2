"""The leases of approvals whose host gives up with their carrier: the hook, bridge or proxy that waits for them.

A lease is renewed for as long as the carrier waits. Once it has run out, the approval ends: nobody is offered a
decision that reaches no one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from answerback.core import refusals, too_late
from answerback.core.ask import Ask, Change, Status
from answerback.core.errors import StoreError
from answerback.core.giving_up import GaveUp
from answerback.ports.clock import MIN_CLOCK_STEP, Clock
from answerback.ports.surface import Acted, Rejected, RejectReason
from answerback.service.act_or_refuse import ChangeCommitter

logger = logging.getLogger(__name__)

LEASE: Final = 60.0
"""Seconds after which an approval ends if its carrier does not wait for it."""
RENEWAL: Final = 15.0
"""Seconds between two renewals of a lease."""
_DECIDED: Final = {Status.ANSWERED, Status.CANCELLED, Status.TURN_ENDED, Status.FAILED}
"""How an approval ends with something to tell the host, other than that there is no decision."""


def lease_until(ask: Ask, at: float) -> Ask:
    """Return the ask with its lease running until a time."""
    return replace(
        ask,
        attendance=replace(
            ask.attendance,
            attended_for=at - ask.created_at + ask.schedule.set_back,
            unattended=False,
        ),
    )


class ApprovalLeases:
    """Renews leases for the carriers that wait in this process, and ends the others' approvals."""

    def __init__(self, commits: ChangeCommitter, clock: Clock) -> None:
        self._commits = commits
        self._clock = clock
        self._waiting: Counter[str] = Counter()
        self._changed = asyncio.Event()
        self._running_since = clock.monotonic()
        """Since when this process has been running without a break, by the monotonic clock."""
        self._ahead = clock.now() - clock.monotonic()

    def run_since(self, at: float) -> None:
        """Count leases as if this process had been running since then, by the monotonic clock."""
        self._running_since = at

    async def report_no_answer(self, ask_id: str) -> Acted | Rejected:
        """End an approval because its host is about to be told no. What people decided before stands."""
        ask = await self._commits.store.asks.get(ask_id)
        if ask is not None and ask.request.dialect != too_late.APPROVAL:
            problem = refusals.NOT_AN_APPROVAL.problem()
            return Rejected(RejectReason.INVALID, ask, (problem,))
        done = await self._commits.change(
            ask_id, lambda latest, at: too_late.give_up(latest, GaveUp.DENIED, at=at)
        )
        if isinstance(done, Rejected) and done.ask is not None and done.ask.status not in _DECIDED:
            return Acted(done.ask, repeated=True)
        return done

    @asynccontextmanager
    async def hold_lease(self, ask: Ask) -> AsyncIterator[None]:
        """Renew the lease of an approval for as long as the context lasts."""
        self._waiting[ask.id] += 1
        self._changed.set()
        try:
            lapses_at = ask.presence_lapses_at
            if lapses_at is None or lapses_at < self._clock.now() + LEASE - RENEWAL:
                await self._renew(ask.id)
            yield
        finally:
            self._waiting[ask.id] -= 1
            if not self._waiting[ask.id]:
                del self._waiting[ask.id]

    async def run(self) -> None:
        """Renew the leases of those who wait; runs until cancelled."""
        while True:
            if not self._waiting:
                self._changed.clear()
                await self._changed.wait()
            await self._clock.sleep_until(self._clock.now() + RENEWAL)
            for ask_id in list(self._waiting):
                await self._renew(ask_id)

    async def _renew(self, ask_id: str) -> None:
        try:
            await self._commits.change(
                ask_id, lambda ask, at: Change(lease_until(ask, at + LEASE), ())
            )
        except (
            StoreError
        ) as error:  # the lease begins anew if it has run out when the store works again
            extra = {"action": "lease_unrenewed", "ask_id": ask_id}
            logger.warning("Could not renew the lease of an approval: %s", error, extra=extra)

    async def end_lease(self, ask_id: str) -> Acted | Rejected:
        """End an approval whose lease has run out, unless its carrier waits or may not have had the time to."""
        grace = LEASE - self._measure_run()

        def decide(ask: Ask, at: float) -> Change | None:
            lapses_at = ask.presence_lapses_at
            if lapses_at is None or lapses_at > at:
                return None  # renewed in the meantime
            if ask_id in self._waiting:
                return Change(lease_until(ask, at + LEASE), ())
            if grace > 0:
                return Change(lease_until(ask, at + grace), ())
            return too_late.give_up(ask, GaveUp.GONE, at=at)

        return await self._commits.change(ask_id, decide)

    def _measure_run(self) -> float:
        """Return for how long this process has been running; a break, such as a suspended machine, begins it again."""
        now = self._clock.monotonic()
        ahead = self._clock.now() - now
        if ahead - self._ahead > MIN_CLOCK_STEP:
            self.run_since(now)
        self._ahead = ahead
        return now - self._running_since
