"""Catch up on messages that were typed while the surface was disconnected, newest questions first.

Owns the time of the last message a surface received, which is stored, and decides when to read what came later.
Missed messages are handled as if they had just arrived: the database knows which ones it has, so none counts twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from answerback.core.ask import Ask
from answerback.core.errors import (
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    StoreError,
)
from answerback.core.escalation import as_left_behind
from answerback.core.form import AnswerType
from answerback.ports.surface import Asks
from answerback_base.backoff import Backoff
from answerback_chat.background_tasks import BackgroundTasks

logger = logging.getLogger(__name__)

Place = TypeVar("Place", bound=Hashable)
T = TypeVar("T")

_OVERLAP: Final = 600.0
"""Seconds read a second time: messages from then may not have been handled. Platforms repeat an event for minutes."""
_SAVE_INTERVAL: Final = 30.0
"""Seconds, by the platform's clock, between two saves of the time of the last message received."""
_MAX_CLOCK_SKEW: Final = 300.0
"""Seconds by which our clock and the platform's may differ if it did not say when an ask appeared."""
_PLACES_AT_ONCE: Final = 300
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 120.0
_MAX_FAILURES: Final = 4
"""Times that a call that fails is retried."""
_UNCONFIRMED_PAUSE: Final = 5.0
"""Seconds before reading again if a live message may have been posted but is not recorded as posted."""
_MAX_UNCONFIRMED_READS: Final = 6
"""Times that this is done: in total longer than another process takes to find the message and record it."""
MAX_RATE_LIMITS: Final = 20
"""Times that a rate limit is waited out for one call."""


@dataclass(eq=False)
class MissedMessageReader(Generic[Place]):
    """After each gap, read what was typed during it.

    Args:
        places: returns where people may type answers to an ask.
        read: handles what was typed at a place after a given time, oldest first; returns the time of the last message.
    """

    surface: str
    asks: Asks
    places: Callable[[Ask], Sequence[Place]]
    read: Callable[[Place, float], Awaitable[float | None]]

    def __post_init__(self) -> None:
        self._key = f"heard:{self.surface}"
        self._newest = 0.0
        self._saved = 0.0
        self._gap = True
        self._connected = False
        self._again = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._unconfirmed = False
        """True if a live message may be posted but is not recorded as such: replies under it are not read yet."""
        self._reads_left = 0
        self._later: asyncio.TimerHandle | None = None
        self._reading = BackgroundTasks()

    async def record_handled(self, at: float | None) -> None:
        """Record that a message sent at this time, by the platform's clock, was handled."""
        self._newest = max(self._newest, at or 0.0)
        # Not during a gap: after a crash, what was missed is read from the saved time on.
        if not self._gap and self._newest - self._saved >= _SAVE_INTERVAL:
            with contextlib.suppress(StoreError):  # the next message saves it
                await self._save()

    def mark_disconnected(self) -> None:
        """Record that messages no longer arrive."""
        self._gap, self._connected = True, False

    def mark_resumed(self) -> None:
        """Record that messages arrive again, and that the platform itself delivers those of the gap."""
        self._connected = True
        if self._task is None or self._task.done():
            self._gap = False

    def start_catching_up(self) -> None:
        """Record that messages arrive again, and read those of the gap in the background."""
        self._reads_left, self._connected = _MAX_UNCONFIRMED_READS, True
        self._begin()

    def read_one(self, ask: Ask) -> None:
        """Read in the background what was typed at one ask, whose message is only now known to be there."""
        if (posted := _answerable_since(ask)) is not None:
            starts = dict.fromkeys(self.places(ask), posted)
            what = f"reading of {self.surface} messages missed at {ask.id}"
            self._reading.spawn(what, self._read_places(starts))

    def _begin(self) -> None:
        self._cancel_unconfirmed_read()  # this call reads the same messages
        self._gap = True
        self._again.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(
                self._catch_up(), name=f"{self.surface} missed messages"
            )

    async def stop(self) -> None:
        """Cancel reading; the next start catches up."""
        self._cancel_unconfirmed_read()
        await self._reading.stop(0.0)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _catch_up(self) -> None:
        while self._again.is_set():
            self._again.clear()
            try:
                complete = await self._read_all()
            except StoreError as error:
                extra = {"action": "missed_later"}
                logger.warning(
                    "Missed messages cannot be read now and will be read later: %s",
                    error,
                    extra=extra,
                )
                await asyncio.sleep(_FIRST_PAUSE)
                self._again.set()
                continue
            if self._again.is_set():
                continue
            # What is typed after the connection was lost is read after the next one.
            self._gap = not self._connected
            if complete and not self._gap:
                with contextlib.suppress(StoreError):  # the next message saves it
                    await self._save()
            self._schedule_unconfirmed_read()

    def _schedule_unconfirmed_read(self) -> None:
        """Read everything once more later if a process may have died after a post and before recording it."""
        if self._unconfirmed and self._reads_left:
            self._reads_left -= 1
            self._later = asyncio.get_running_loop().call_later(_UNCONFIRMED_PAUSE, self._begin)

    def _cancel_unconfirmed_read(self) -> None:
        if self._later is not None:
            self._later.cancel()

    async def _read_all(self) -> bool:
        """Read every place; return whether all of them could be read."""
        saved = await self.asks.draft(self._key)
        since = saved - _OVERLAP if isinstance(saved, float) else 0.0
        complete = True
        async for starts in self._places_to_read(since):
            complete &= await self._read_places(starts)
        return complete

    async def _read_places(self, starts: Mapping[Place, float]) -> bool:
        """Read each place from its time on; return whether all of them could be read."""
        complete = True
        for place, after in starts.items():
            try:
                last = await self.read(place, after)
            except (PlatformError, StoreError) as error:
                complete = False
                extra = {"action": "missed_unread", "code": getattr(error, "code", None)}
                logger.warning("Messages typed at %s cannot be read: %s", place, error, extra=extra)
            except Exception:  # one odd message must not block the others
                complete = False
                logger.exception(
                    "Handling missed messages failed", extra={"action": "missed_failed"}
                )
            else:
                self._newest = max(self._newest, last or 0.0)
        return complete

    async def _places_to_read(self, since: float) -> AsyncIterator[Mapping[Place, float]]:
        """Yield the places of open questions that can be answered by typing, each with the time to read from.

        They come in parts of a limited size.
        """
        starts: dict[Place, float] = {}
        self._unconfirmed = False
        async for ask in self.asks.each_open(self.surface):
            self._unconfirmed |= ask.placement.message is not None and not ask.placement.was_visible
            for each in self._views(ask, since):
                posted = _answerable_since(each)
                for place in self.places(each) if posted is not None else ():
                    after = max(posted or 0.0, since)
                    starts[place] = min(starts.get(place, after), after)
            if len(starts) >= _PLACES_AT_ONCE:
                yield starts
                starts = {}
        yield starts

    def _views(self, ask: Ask, since: float) -> Sequence[Ask]:
        """An ask as people have seen it since a time: where it is, and where it was before if it looked open there."""
        left = ask.placement.old_message
        if left is None or left.destination.surface != self.surface:
            return (ask,)
        return (ask, as_left_behind(ask)) if left.until is None or left.until > since else (ask,)

    async def _save(self) -> None:
        if self._newest > self._saved:
            self._saved = self._newest
            await self.asks.save_draft(self._key, self._newest)


def _answerable_since(ask: Ask) -> float | None:
    """Since when people may have typed at an ask; None if its open question is not answered by typing."""
    if ask.question is None or ask.question.answer_type is AnswerType.SCHEMA:
        return None
    return (
        ask.created_at - _MAX_CLOCK_SKEW
        if ask.placement.seen_since is None
        else ask.placement.seen_since
    )


async def call_patiently(call: Callable[[], Awaitable[T]]) -> T:
    """Make a call that may take long: wait out rate limits, and retry it if it fails temporarily."""
    backoff, failed, limited = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE, factor=5.0), 0, 0
    while True:
        try:
            return await call()
        except RateLimitedError as error:
            limited += 1
            if limited > MAX_RATE_LIMITS:
                raise
            pause = error.retry_after
        except (PlatformUnavailableError, StoreError):
            failed += 1
            if failed > _MAX_FAILURES:
                raise
            pause = backoff.next_delay()
        await asyncio.sleep(pause)
