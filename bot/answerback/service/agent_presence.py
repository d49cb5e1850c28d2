"""Agent presence: whether an agent still waits for an ask, through a call, a stream, a hook or regular polling.

What is stored is a lease, whose policy depends on who waits: an agent for an answer, or the caller that asks for
permission (a hook, bridge or proxy), whose host gives up with it. Between two renewals, a wait writes nothing. People
are notified once, and only after no agent has come back for a while. As leases run out, a crash of this process never
makes an agent look present for ever.

If several processes share the store, none of them alone can know that no caller waits. It stores that the presence is
about to expire. The others receive this like any change, and the one where the agent waits stores that it does.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import Final, Protocol

from answerback.core.ask import Ask, Change
from answerback.core.errors import StoreError
from answerback.ports.clock import Clock

logger = logging.getLogger(__name__)

GRACE: Final = 30.0
"""Seconds for which an agent may be away before people are notified: between two calls, or while its model thinks."""
CUT_OFF_GRACE: Final = 1.5
"""The same for an agent whose call was cancelled or cut off: it says so itself, but may call again at once."""
HANDOVER: Final = 5.0
"""Seconds that another process has to report that the agent waits there, before people are told that it left."""


@dataclass(frozen=True, slots=True)
class LeasePolicy:
    """The times for which a caller counts as waiting for an ask."""

    seconds: float
    """Seconds for which the stored lease is valid."""
    renewal: float
    """Seconds between two renewals while it waits."""
    notes_departure: bool
    """True if people are told, and it is stored, that no caller has come back; otherwise the lease just runs out."""


AGENT: Final = LeasePolicy(seconds=300.0, renewal=150.0, notes_departure=True)
"""The policy for an agent, which may call again."""
CALLER: Final = LeasePolicy(seconds=60.0, renewal=15.0, notes_departure=False)
"""The policy for the caller of an approval, which ends with it; see `answerback.service.approval_leases`."""


POLICIES: Final = {False: AGENT, True: CALLER}
"""The policy of an ask, by `Request.ends_with_caller`."""


def lease_until(ask: Ask, at: float) -> Ask:
    """Return the ask with its lease running until a time."""
    wait_seconds = at - ask.created_at + ask.schedule.clock_set_back
    attendance = replace(ask.attendance, wait_seconds=wait_seconds, agent_left=False)
    return replace(ask, attendance=attendance)


def change_presence(ask: Ask, at: float, *, attended: bool | None) -> Change | None:
    """Note on the ask whether its agent waits; None: not in this process, but perhaps in another."""
    if attended is None and ask.attendance.agent_left:
        return None
    seconds = HANDOVER if attended is None else POLICIES[ask.request.ends_with_caller].seconds
    until = (
        None if attended is False else at - ask.created_at + ask.schedule.clock_set_back + seconds
    )
    updated = replace(
        ask,
        attendance=replace(ask.attendance, wait_seconds=until, agent_left=attended is False),
    )
    if ask.attendance.agent_left != updated.attendance.agent_left:
        # The same revision is shown again, so that no responder is interrupted.
        updated = replace(
            updated, placement=replace(updated.placement, shown_revision=ask.revision - 1)
        )
    return Change(updated, ())


class StorePresence(Protocol):
    """Stores whether the agent waits for an ask and updates its message; None: not here, but perhaps elsewhere."""

    async def __call__(self, ask_id: str, *, attended: bool | None) -> object: ...


class AgentPresence:
    """The agents that wait in this process, and those that have just left.

    Args:
        alone: whether no other process shares the store.
    """

    def __init__(
        self,
        clock: Clock,
        store_presence: StorePresence,
        *,
        alone: bool = True,
    ) -> None:
        self._clock = clock
        self._store_presence = store_presence
        self._absent_state = False if alone else None
        """The state to store once no caller has come back for a while."""
        self._waiting: Counter[str] = Counter()
        self._renewed: dict[LeasePolicy, dict[str, float]] = defaultdict(dict)
        """When each lease was last stored, by the monotonic clock, earliest first."""
        self._recently_left: dict[str, float] = {}
        """When the last waiter of each ask left, if no other has come back since, earliest first."""
        self._cut_off: dict[str, float] = {}
        """The same for those whose call was cancelled or cut off."""
        self._changed = asyncio.Event()

    def has_waiter(self, ask_id: str) -> bool:
        """Return True if a caller waits for the ask in this process, or has just left."""
        return ask_id in self._waiting or self._has_just_left(ask_id)

    def is_waiting(self, ask_id: str) -> bool:
        """Return True if a caller waits for the ask in this process right now."""
        return ask_id in self._waiting

    def _has_just_left(self, ask_id: str) -> bool:
        return ask_id in self._recently_left or ask_id in self._cut_off

    def track_wait(self, ask: Ask) -> AbstractAsyncContextManager[None]:
        """Count the agent as waiting for an ask for as long as the context lasts."""
        if not ask.open or (ask.request.callback is not None and not ask.request.ends_with_caller):
            return nullcontext()
        policy = POLICIES[ask.request.ends_with_caller]
        return _TrackedWait(self, ask.id, policy, renews=self._expires_soon(ask))

    async def record_poll(self, ask: Ask) -> None:
        """Note that the agent has polled an ask.

        It changes nothing once people were told that it has gone on, or after its call was cut off.
        """
        if not ask.attendance.agent_left and ask.id not in self._cut_off:
            async with self.track_wait(ask):
                pass

    async def handle_remote_change(self, ask: Ask) -> None:
        """Handle an ask that another process has changed: it may not know who waits for it here."""
        waits = self.is_waiting(ask.id) or (
            not ask.attendance.agent_left and self._has_just_left(ask.id)
        )
        if waits and ask.open and self._expires_soon(ask):
            await self.renew(ask.id, POLICIES[ask.request.ends_with_caller])

    def forget(self, ask_id: str) -> None:
        """Stop expecting a caller to come back for an ask."""
        for departures, _ in self._departures():
            departures.pop(ask_id, None)

    async def run(self) -> None:
        """Store who has left and who still waits; runs until cancelled."""
        while True:
            self._changed.clear()
            next_at = await self.run_once()
            if next_at is None:
                await self._changed.wait()
            else:
                # A caller that leaves from now on will have been away for long enough when this wait is over.
                wait = min(max(next_at - self._clock.monotonic(), 0.0), CUT_OFF_GRACE)
                await self._clock.sleep(wait)

    async def run_once(self) -> float | None:
        """Store what is due now; return when to run next, by the monotonic clock (None: no ask is tracked)."""
        now = self._clock.monotonic()
        for departures, grace in self._departures():
            for ask_id in _ids_until(departures, now - grace):
                if departures.pop(ask_id, None) is not None:
                    await self._store(ask_id, attended=self._absent_state)
                    if self.has_waiter(ask_id):  # they have come back in the meantime
                        await self._store(ask_id, attended=True)
        for policy, renewed in self._renewed.items():
            for ask_id in _ids_until(renewed, now - policy.renewal):
                await self.renew(ask_id, policy)
        renewals = ((renewed, policy.renewal) for policy, renewed in self._renewed.items())
        earliest = (*renewals, *self._departures())
        return min(
            (at + rest for times, rest in earliest for at in islice(times.values(), 1)),
            default=None,
        )

    def add_waiter(self, ask_id: str, policy: LeasePolicy) -> None:
        self.forget(ask_id)
        self._waiting[ask_id] += 1
        self._renewed[policy].setdefault(ask_id, self._clock.monotonic())
        self._changed.set()

    def _expires_soon(self, ask: Ask) -> bool:
        policy, expires_at = POLICIES[ask.request.ends_with_caller], ask.presence_lapses_at
        left = policy.seconds - policy.renewal
        return expires_at is None or expires_at < self._clock.now() + left

    def remove_waiter(self, ask_id: str, policy: LeasePolicy, *, cut_off: bool) -> None:
        self._waiting[ask_id] -= 1
        if self._waiting[ask_id]:
            return
        del self._waiting[ask_id], self._renewed[policy][ask_id]
        if policy.notes_departure:
            departures = self._cut_off if cut_off else self._recently_left
            departures[ask_id] = self._clock.monotonic()
            self._changed.set()

    def note_cut_off(self, ask_id: str) -> None:
        """Count the agent as cut off, too, because its call was cancelled, perhaps before it has begun to wait."""
        if self._recently_left.pop(ask_id, None) is not None:
            self._cut_off[ask_id] = self._clock.monotonic()
            self._changed.set()

    def _departures(self) -> tuple[tuple[dict[str, float], float], ...]:
        """Return the callers that have left, with the seconds for which they may be away."""
        return (self._recently_left, GRACE), (self._cut_off, CUT_OFF_GRACE)

    async def renew(self, ask_id: str, policy: LeasePolicy) -> None:
        """Store that a caller waits for an ask."""
        if self._renewed[policy].pop(ask_id, None) is not None:
            self._renewed[policy][ask_id] = self._clock.monotonic()
        await self._store(ask_id, attended=True)

    async def _store(self, ask_id: str, *, attended: bool | None) -> None:
        try:
            await self._store_presence(ask_id, attended=attended)
        except StoreError as error:
            # The stored presence expires, and the scheduler then notifies people.
            extra = {"action": "attend_failed", "ask_id": ask_id}
            logger.warning("Could not store whether the agent is waiting: %s", error, extra=extra)


class _TrackedWait:
    """One wait for an ask. Each waiting agent has one, so it is a small class rather than a generator."""

    __slots__ = ("_ask_id", "_policy", "_presence", "_renews")

    def __init__(
        self, presence: AgentPresence, ask_id: str, policy: LeasePolicy, *, renews: bool
    ) -> None:
        self._presence = presence
        self._ask_id = ask_id
        self._policy = policy
        self._renews = renews

    async def __aenter__(self) -> None:
        self._presence.add_waiter(self._ask_id, self._policy)
        if self._renews:
            try:
                await self._presence.renew(self._ask_id, self._policy)
            except asyncio.CancelledError:  # `__aexit__` is not called then
                self._presence.remove_waiter(self._ask_id, self._policy, cut_off=True)
                raise

    async def __aexit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._presence.remove_waiter(self._ask_id, self._policy, cut_off=error is not None)


def _ids_until(times: dict[str, float], at: float) -> list[str]:
    """The ids whose time is not after ``at``; the dict is ordered by time."""
    return [ask_id for ask_id, _ in takewhile(lambda each: each[1] <= at, times.items())]
