"""Words that were typed while nothing could be heard: read afterwards where they stand, newest questions first.

Owns how far a surface has heard, which is stored, and when what came later is to be read. What was typed is handled
as if it had just come: the database knows which messages it has, so that none counts twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Final, Generic, TypeVar

from answerback.core.ask import Ask
from answerback.core.errors import (
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    StoreError,
)
from answerback.core.form import AnswerType
from answerback.ports.surface import Asks
from answerback_client.backoff import Backoff

logger = logging.getLogger(__name__)

Place = TypeVar("Place", bound=Hashable)

_OVERLAP: Final = 600.0
"""Seconds that are read again: what came then may not have been taken. A platform repeats an event for minutes."""
_SAVED_EVERY: Final = 30.0
"""Seconds, by the platform's clock, after which it is stored again how far it has heard."""
_MOST_PLACES: Final = 300
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 120.0
_MOST_FAILED: Final = 4
"""How often a place that cannot be read is tried again."""
_UNNOTED: Final = 5.0
"""Seconds after which it is read again where a message may be posted of which that is not noted."""
_MOST_UNNOTED: Final = 6
"""How often that is done: together longer than another process takes to find the message and note it."""
_MOST_LIMITED: Final = 20
"""How often a limit is waited for at one place."""


class MissedMessageReader(Generic[Place]):
    """Reads after each gap what was typed in it.

    Args:
        places: where words for an ask may stand.
        read: takes in what was typed at a place after a moment, oldest first; gives the moment of the last of it.
    """

    def __init__(
        self,
        surface: str,
        asks: Asks,
        places: Callable[[Ask], Sequence[Place]],
        read: Callable[[Place, float], Awaitable[float | None]],
    ) -> None:
        self._surface = surface
        self._asks = asks
        self._places = places
        self._read = read
        self._key = f"heard:{surface}"
        self._newest = 0.0
        self._saved = 0.0
        self._gap = True
        self._again = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._unnoted = False
        """Whether a message may be posted of which that is not noted: nobody looks yet for words under it."""
        self._looks = 0
        self._later: asyncio.TimerHandle | None = None

    async def record_heard(self, at: float | None) -> None:
        """A message of this moment was handled, by the platform's clock."""
        self._newest = max(self._newest, at or 0.0)
        if not self._gap and self._newest - self._saved >= _SAVED_EVERY:
            with contextlib.suppress(StoreError):  # the next message saves it
                await self._save()

    def mark_disconnected(self) -> None:
        """From now on nothing is heard."""
        self._gap = True

    def mark_resumed(self) -> None:
        """Everything is heard again, and what was typed meanwhile is sent by the platform itself."""
        if self._task is None or self._task.done():
            self._gap = False

    def start_catching_up(self) -> None:
        """Everything is heard again from now on: what was typed meanwhile is read, in the background."""
        self._looks = _MOST_UNNOTED
        self._begin()

    def _begin(self) -> None:
        self._gap = True
        self._again.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._catch_up(), name=f"{self._surface} missed words")

    async def stop(self) -> None:
        """Gives up what is under way: the next start does it."""
        if self._later is not None:
            self._later.cancel()
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
                logger.warning("Missed words are read later: %s", error, extra=extra)
                await asyncio.sleep(_FIRST_PAUSE)
                self._again.set()
                continue
            if self._again.is_set():
                continue
            self._gap = False
            if complete:
                with contextlib.suppress(StoreError):  # the next message saves it
                    await self._save()
            self._look_again()

    def _look_again(self) -> None:
        """Reads it all once more where a process may have died between a post and the note of it."""
        if self._unnoted and self._looks:
            self._looks -= 1
            self._later = asyncio.get_running_loop().call_later(_UNNOTED, self._begin)

    async def _read_all(self) -> bool:
        """Whether everything could be read."""
        kept = await self._asks.draft(self._key)
        since = kept - _OVERLAP if isinstance(kept, float) else 0.0
        complete = True
        for place, after in (await self._wanted(since)).items():
            try:
                last = await self._read_place(place, after)
            except (PlatformError, StoreError) as error:
                complete = False
                extra = {"action": "missed_unread", "code": getattr(error, "code", None)}
                logger.warning("Words typed at %s cannot be read: %s", place, error, extra=extra)
            except Exception:  # one odd message must not keep us from the others
                complete = False
                logger.exception("Missed words failed", extra={"action": "missed_failed"})
            else:
                self._newest = max(self._newest, last or 0.0)
        return complete

    async def _wanted(self, since: float) -> dict[Place, float]:
        """The places of open questions that words can answer, and from when on they can there."""
        wanted: dict[Place, float] = {}
        self._unnoted = False
        async for ask in self._asks.each_open(self._surface):
            self._unnoted |= ask.message is not None and not ask.seen
            opened = _opened(ask)
            for place in self._places(ask) if opened is not None else ():
                after = max(opened or 0.0, since)
                wanted[place] = min(wanted.get(place, after), after)
            if len(wanted) >= _MOST_PLACES:
                extra = {"action": "missed_bounded"}
                logger.warning(
                    "Words typed at the oldest questions are not looked for: too many are open",
                    extra=extra,
                )
                break
        return wanted

    async def _read_place(self, place: Place, after: float) -> float | None:
        backoff, failed, limited = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE, factor=5.0), 0, 0
        while True:
            try:
                return await self._read(place, after)
            except RateLimitedError as error:
                limited += 1
                if limited > _MOST_LIMITED:
                    raise
                pause = error.retry_after
            except (PlatformUnavailableError, StoreError):
                failed += 1
                if failed > _MOST_FAILED:
                    raise
                pause = backoff.next_delay()
            await asyncio.sleep(pause)

    async def _save(self) -> None:
        if self._newest > self._saved:
            self._saved = self._newest
            await self._asks.save_draft(self._key, self._newest)


def _opened(ask: Ask) -> float | None:
    """From when on words can answer the open question; None where none can."""
    question = ask.question
    if question is None or question.answer_type is AnswerType.SCHEMA:
        return None
    known = [at for at in (ask.opened.at, ask.opened.shown) if at is not None]
    return min(known, default=None)
