"""Queues of asks that wait to be shown: one for each place, in order; bounded, because the store has the rest.

A platform limits how often may be posted to one place. So first posts to a place take turns, while other places
go on. Whatever is shown already has a lane of its own: an edit never waits for posts.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from answerback.core.errors import StoreError

logger = logging.getLogger(__name__)

MAX_QUEUED_PER_PLACE: Final = 100
MAX_QUEUED: Final = 10_000
"""Asks that are in lanes at the same time, all together."""


@dataclass(frozen=True, slots=True)
class Retry:
    """An ask needs another attempt, so many seconds later."""

    seconds: float = 0.0
    failed: bool = False
    """Whether this attempt failed, so that the next failure waits longer."""
    limited: bool = False
    """Whether the platform limits the whole place: the others there wait as well."""
    firm: bool = False
    """Whether the pause lasts, whoever wants the ask looked at."""


ShowAttempt = Callable[[str, int], Awaitable[Retry | None]]
"""Makes one attempt with an ask (its id, and how often it failed in a row); None: there is nothing left to do."""


@dataclass(slots=True, eq=False)
class _Lane:
    """Asks that take turns. ``place`` is None for the lane of a single ask."""

    place: str | None
    waiting: deque[str] = field(default_factory=deque)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when somebody wants the first ask looked at again."""
    overflowed: bool = False
    failures: int = 0


class ShowQueues:
    """All lanes.

    Args:
        attend: makes one attempt; raises nothing.
        refill: adds asks that had no room, from the store.
    """

    def __init__(self, attend: ShowAttempt, refill: Callable[[], Awaitable[None]]) -> None:
        self._attend = attend
        self._refill = refill
        self._of: dict[str, _Lane] = {}
        self._places: dict[str, _Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._overflowed = False

    def __contains__(self, ask_id: str) -> bool:
        return ask_id in self._of

    def __len__(self) -> int:
        return len(self._of)

    def add(self, ask_id: str, place: str | None) -> None:
        """Has an ask attended to: in turn at its place, or (None) by itself. One that is due already is only woken."""
        if (lane := self._of.get(ask_id)) is not None:
            if lane.waiting[0] == ask_id:
                lane.wake.set()
            return
        if len(self._of) >= MAX_QUEUED:
            self._overflowed = True
        elif place is None:
            self._begin(_Lane(None), ask_id)
        elif (lane := self._places.get(place)) is None:
            lane = self._places[place] = _Lane(place)
            self._begin(lane, ask_id)
        elif lane.overflowed or len(lane.waiting) >= MAX_QUEUED_PER_PLACE:
            lane.overflowed = True  # who comes later must not overtake those that had no room
        else:
            self._join(lane, ask_id)

    def is_woken(self, ask_id: str) -> bool:
        """Whether somebody wanted an ask looked at since the attempt with it that is under way began."""
        return (lane := self._of.get(ask_id)) is not None and lane.wake.is_set()

    async def wait_until_idle(self) -> None:
        """Returns once no ask is in a lane."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def stop(self) -> None:
        """Gives up what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _join(self, lane: _Lane, ask_id: str) -> None:
        lane.waiting.append(ask_id)
        self._of[ask_id] = lane

    def _begin(self, lane: _Lane, ask_id: str, wait: float = 0.0) -> None:
        self._join(lane, ask_id)
        self._spawn(self._run(lane, wait), f"show {lane.place or ask_id}")

    def _spawn(self, work: Coroutine[object, object, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, lane: _Lane, wait: float) -> None:
        await _pause(lane, wait)
        while lane.waiting:
            ask_id = lane.waiting[0]
            lane.wake.clear()
            again = await self._attend(ask_id, lane.failures)
            if again is None and lane.wake.is_set():
                again = Retry()
            if again is None or (lane.place is not None and not again.limited):
                self._leave(lane)
                if again is not None:
                    self._alone(ask_id, again)
                continue
            lane.failures = lane.failures + 1 if again.failed else 0
            await _pause(lane, again.seconds, firm=again.firm)

    def _leave(self, lane: _Lane) -> None:
        """The first ask has had its turn."""
        del self._of[lane.waiting.popleft()]
        more = lane.overflowed and not lane.waiting
        if lane.place is not None and not lane.waiting:
            del self._places[lane.place]
        if more or (self._overflowed and len(self._of) <= MAX_QUEUED // 2):
            self._overflowed = False
            self._spawn(self._refilled(), "show refill")

    def _alone(self, ask_id: str, again: Retry) -> None:
        """An ask that is posted, or that nobody knows about, holds up no other one of its place."""
        lane = _Lane(None, failures=int(again.failed))
        self._begin(lane, ask_id, again.seconds)

    async def _refilled(self) -> None:
        try:
            await self._refill()
        except StoreError as error:
            extra = {"action": "refill_failed"}
            logger.warning(
                "Asks that wait to be shown are looked for later: %s", error, extra=extra
            )


async def _pause(lane: _Lane, seconds: float, *, firm: bool = False) -> None:
    """Waits; somebody who looks at the message ends the pause of an ask that is alone, unless it is firm."""
    if seconds <= 0:
        return
    if firm or lane.place is not None:
        await asyncio.sleep(seconds)
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await lane.wake.wait()
