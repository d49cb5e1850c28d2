"""Queues of asks that wait to be shown: one for each place, in order; bounded, because the rest is in the store.

A platform limits how often an app may post in one place. So first posts in a place take turns, while other places
continue. Anything that is already shown has its own queue: an edit never waits for posts.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from answerback.core.ask import Destination
from answerback.core.errors import StoreError

logger = logging.getLogger(__name__)

MAX_QUEUED_PER_PLACE: Final = 100
MAX_QUEUED: Final = 10_000
"""Asks in all queues together, at most."""


@dataclass(frozen=True, slots=True)
class Retry:
    """An ask needs another attempt after the given number of seconds."""

    seconds: float = 0.0
    failed: bool = False
    """True if this attempt failed, so that the next failure leads to a longer delay."""
    limited: bool = False
    """True if the platform limits the whole place, so that its other asks wait as well."""
    firm: bool = False
    """True if a request for the ask does not shorten the delay."""


IMMEDIATELY: Final = Retry()

ShowAttempt = Callable[[str, int], Awaitable[Retry | None]]
"""Makes one attempt at an ask (its id, and its number of consecutive failures); None: nothing remains to be done."""


@dataclass(slots=True, eq=False)
class _Queue:
    """Asks that take turns. ``place`` is None for the queue of a single ask."""

    place: str | None
    waiting: deque[str] = field(default_factory=deque)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the first ask is requested again."""
    overflowed: bool = False
    failures: int = 0


@dataclass(eq=False)
class MessageQueues:
    attempt: ShowAttempt
    """Makes one attempt; it raises nothing."""
    refill: Callable[[], Awaitable[None]]
    """Adds asks from the store that did not fit."""
    _queue_by_ask: dict[str, _Queue] = field(default_factory=dict)
    _queue_by_place: dict[str, _Queue] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _overflowed: bool = False

    def __contains__(self, ask_id: str) -> bool:
        return ask_id in self._queue_by_ask

    def __len__(self) -> int:
        return len(self._queue_by_ask)

    def add(self, ask_id: str, place: str | None) -> None:
        """Queue an ask at its place, or (None) in its own queue; wake it if it is already first in a queue."""
        if (queue := self._queue_by_ask.get(ask_id)) is not None:
            if queue.waiting[0] == ask_id:
                queue.wake.set()
            return
        if len(self._queue_by_ask) >= MAX_QUEUED:
            self._overflowed = True
        elif place is None:
            self._start_queue(_Queue(None), ask_id)
        elif (queue := self._queue_by_place.get(place)) is None:
            queue = self._queue_by_place[place] = _Queue(place)
            self._start_queue(queue, ask_id)
        elif queue.overflowed or len(queue.waiting) >= MAX_QUEUED_PER_PLACE:
            queue.overflowed = True  # later asks must not overtake those that did not fit
        else:
            self._append(queue, ask_id)

    def is_woken(self, ask_id: str) -> bool:
        """Return True if an ask has been requested again since the current attempt at it began."""
        return (queue := self._queue_by_ask.get(ask_id)) is not None and queue.wake.is_set()

    async def wait_until_idle(self) -> None:
        """Return once no ask is queued."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _append(self, queue: _Queue, ask_id: str) -> None:
        queue.waiting.append(ask_id)
        self._queue_by_ask[ask_id] = queue

    def _start_queue(self, queue: _Queue, ask_id: str, after: Retry = IMMEDIATELY) -> None:
        self._append(queue, ask_id)
        self._spawn(self._run(queue, after), f"show {queue.place or ask_id}")

    def _spawn(self, work: Coroutine[object, object, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, queue: _Queue, after: Retry) -> None:
        await _pause(queue, after)
        while queue.waiting:
            ask_id = queue.waiting[0]
            queue.wake.clear()  # before the attempt: a request during it may bring a newer state
            retry = await self.attempt(ask_id, queue.failures)
            if retry is None and queue.wake.is_set():
                retry = IMMEDIATELY
            if retry is None or (queue.place is not None and not retry.limited):
                self._finish_first(queue)
                if retry is not None:  # in its own queue, it does not delay the others of its place
                    alone = _Queue(None, failures=int(retry.failed))
                    self._start_queue(alone, ask_id, retry)
                continue
            queue.failures = queue.failures + 1 if retry.failed else 0
            await _pause(queue, retry)

    def _finish_first(self, queue: _Queue) -> None:
        """Remove the first ask, which has had its turn."""
        del self._queue_by_ask[queue.waiting.popleft()]
        needs_refill = queue.overflowed and not queue.waiting
        if queue.place is not None and not queue.waiting:
            del self._queue_by_place[queue.place]
        if needs_refill or (self._overflowed and len(self._queue_by_ask) <= MAX_QUEUED // 2):
            self._overflowed = False
            self._spawn(self._run_refill(), "show refill")

    async def _run_refill(self) -> None:
        try:
            await self.refill()
        except StoreError as error:
            extra = {"action": "refill_failed"}
            logger.warning("Could not look for more asks to show: %s", error, extra=extra)


async def _pause(queue: _Queue, retry: Retry) -> None:
    """Wait. A request for the ask ends the delay if the ask has its own queue, unless the delay is firm."""
    if retry.seconds <= 0:
        return
    if retry.firm or queue.place is not None:
        await asyncio.sleep(retry.seconds)
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(retry.seconds):
            await queue.wake.wait()


def place_key(destination: Destination) -> str:
    """The place where posts take turns: a channel with its threads, or a person."""
    where = destination.channel or destination.user or destination.thread
    return f"{destination.surface}:{where}"
