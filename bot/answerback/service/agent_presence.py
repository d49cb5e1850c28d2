"""Whether an agent still waits for an ask: a call that waits, a stream, a hook, or a look at it now and then.

Nothing is written when a wait is renewed. Only where nobody has come back for a while are people told, once; and what
is stored of an agent that waits lapses by itself, so that a crash of ours leaves nobody waiting for ever.

Where several processes share the store, one alone cannot tell that nobody waits. It stores that the wait is about to
lapse, which the others hear of as of any change; the one where the agent waits now stores that it does.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from typing import Final, Protocol

from answerback.core.ask import Ask, Change
from answerback.core.errors import StoreError
from answerback.ports.clock import Clock

logger = logging.getLogger(__name__)

GRACE: Final = 30.0
"""Seconds for which an agent may be away before people are told: between two calls, or while its model thinks."""
LEASE: Final = 300.0
"""Seconds for which it is stored that an agent waits; it is stored again in the middle of them."""
HANDOVER: Final = 5.0
"""Seconds in which another process can say that the agent waits there, before people are told that it is gone."""


def change_presence(ask: Ask, at: float, *, attended: bool | None) -> Change | None:
    """The ask with a note whether its agent waits; None: not here, and perhaps elsewhere."""
    if attended is None and ask.unattended:
        return None
    lasts = HANDOVER if attended is None else LEASE
    until = None if attended is False else at - ask.created_at + ask.set_back + lasts
    now = replace(ask, attended_for=until, unattended=attended is False)
    if ask.unattended != now.unattended:
        # The same revision shown anew: whoever is about to answer is not put off by it.
        now = replace(now, shown_revision=ask.revision - 1)
    return Change(now, ())


class StorePresence(Protocol):
    """Stores whether the agent waits for an ask, and has its message say so; None: not here, and perhaps elsewhere."""

    async def __call__(self, ask_id: str, *, attended: bool | None) -> object:
        """Stores it."""


class AgentPresence:
    """Who waits in this process, and who has just left.

    Args:
        alone: no other process shares the store.
    """

    def __init__(self, clock: Clock, attend: StorePresence, *, alone: bool = True) -> None:
        self._clock = clock
        self._attend = attend
        self._gone = False if alone else None
        """What is stored where nobody has come back for a while."""
        self._listening: Counter[str] = Counter()
        self._renewed: dict[str, float] = {}
        """When it was stored last that somebody waits, by the monotonic clock, the earliest first."""
        self._left: dict[str, float] = {}
        """When the last one left whom nobody has followed, the earliest first."""
        self._some = asyncio.Event()

    def has_waiter(self, ask_id: str) -> bool:
        """Whether somebody waits for an ask here, or has just left."""
        return ask_id in self._listening or ask_id in self._left

    def track_wait(self, ask: Ask) -> AbstractAsyncContextManager[None]:
        """The agent waits for an ask for as long as the context lasts."""
        if ask.request.callback is not None or not ask.open:
            return nullcontext()
        return _Listening(self, ask.id, renews=self._lapses_soon(ask))

    async def record_poll(self, ask: Ask) -> None:
        """The agent has looked at an ask. Where people were told that it moved on, a look changes nothing."""
        if not ask.unattended:
            async with self.track_wait(ask):
                pass

    async def handle_remote_change(self, ask: Ask) -> None:
        """Another process has changed an ask: perhaps it does not know who waits for it here."""
        waits = ask.id in self._listening or (not ask.unattended and ask.id in self._left)
        if waits and ask.open and self._lapses_soon(ask):
            await self.renew(ask.id)

    def forget(self, ask_id: str) -> None:
        """Nobody is expected to come back for an ask."""
        self._left.pop(ask_id, None)

    async def run(self) -> None:
        """Stores what has become of those who left, and that the others still wait; until cancelled."""
        while True:
            self._some.clear()
            next_at = await self.run_once()
            if next_at is None:
                await self._some.wait()
            else:
                # Whoever leaves from now on is away for long enough when this is over.
                wait = min(max(next_at - self._clock.monotonic(), 0.0), GRACE)
                await self._clock.sleep_until(self._clock.now() + wait)

    async def run_once(self) -> float | None:
        """Stores what is to be stored now; when there is more, by the monotonic clock (None: there is nobody)."""
        now = self._clock.monotonic()
        for ask_id in _before(self._left, now - GRACE):
            if self._left.pop(ask_id, None) is not None:
                await self._store(ask_id, attended=self._gone)
                if self.has_waiter(ask_id):  # they have come back meanwhile
                    await self._store(ask_id, attended=True)
        for ask_id in _before(self._renewed, now - LEASE / 2):
            await self.renew(ask_id)
        times = [at + GRACE for at in _first(self._left)]
        times += [at + LEASE / 2 for at in _first(self._renewed)]
        return min(times, default=None)

    def add_waiter(self, ask_id: str) -> None:
        """One more waits for an ask."""
        self._left.pop(ask_id, None)
        self._listening[ask_id] += 1
        self._renewed.setdefault(ask_id, self._clock.monotonic())
        self._some.set()

    def _lapses_soon(self, ask: Ask) -> bool:
        lapses = ask.presence_lapses_at
        return lapses is None or lapses < self._clock.now() + LEASE / 2

    def remove_waiter(self, ask_id: str) -> None:
        """One of those who waited for an ask has left."""
        self._listening[ask_id] -= 1
        if not self._listening[ask_id]:
            del self._listening[ask_id], self._renewed[ask_id]
            self._left[ask_id] = self._clock.monotonic()
            self._some.set()

    async def renew(self, ask_id: str) -> None:
        """Stores that somebody waits for an ask."""
        if self._renewed.pop(ask_id, None) is not None:
            self._renewed[ask_id] = self._clock.monotonic()
        await self._store(ask_id, attended=True)

    async def _store(self, ask_id: str, *, attended: bool | None) -> None:
        try:
            await self._attend(ask_id, attended=attended)
        except StoreError as error:
            # What is stored lapses, and then the upkeep tells people.
            extra = {"action": "attend_failed", "ask_id": ask_id}
            logger.warning("Whether the agent waits is not stored: %s", error, extra=extra)


class _Listening:
    """One who waits for an ask. Small, because there is one for each agent that waits: no generator."""

    __slots__ = ("_ask_id", "_listeners", "_renews")

    def __init__(self, listeners: AgentPresence, ask_id: str, *, renews: bool) -> None:
        self._listeners = listeners
        self._ask_id = ask_id
        self._renews = renews

    async def __aenter__(self) -> None:
        self._listeners.add_waiter(self._ask_id)
        if self._renews:
            try:
                await self._listeners.renew(self._ask_id)
            except asyncio.CancelledError:
                self._listeners.remove_waiter(self._ask_id)
                raise

    async def __aexit__(self, *_: object) -> None:
        self._listeners.remove_waiter(self._ask_id)


def _before(times: dict[str, float], at: float) -> list[str]:
    """Whose times have come; the earliest stand first."""
    found = []
    for ask_id, time in times.items():
        if time > at:
            break
        found.append(ask_id)
    return found


def _first(times: dict[str, float]) -> list[float]:
    """The earliest time, if there is one."""
    return [next(iter(times.values()))] if times else []
