"""Find what happened to messages and their places while no events arrived: deleted, archived, left.

Owns when to look. Every live message is looked at, page by page and one call after the other, so that posts, edits and
clicks hardly wait. A message that is missing is shown again; where nobody can be asked any more, all asks fail.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, Protocol, TypeVar

from answerback.core.ask import Ask
from answerback.core.errors import (
    DestinationGoneError,
    ForbiddenError,
    PlatformError,
    StoreError,
    UnauthorizedError,
)
from answerback.ports.live_messages import LiveMessages
from answerback_chat.catch_up import call_patiently

logger = logging.getLogger(__name__)

Place = TypeVar("Place", bound=Hashable)

_ASKS_AT_ONCE: Final = 1_000


class Messages(Protocol[Place]):
    """A platform's messages and places. Every method may raise PlatformError."""

    def locate(self, ask: Ask) -> tuple[Place, str] | None:
        """Return where the ask's live message is, and its id there; None if it is not posted."""

    async def require_open(self, place: Place) -> None:
        """Raise DestinationGoneError if nobody can be asked at a place any more."""

    async def look_up(self, place: Place, messages: Sequence[str]) -> Mapping[str, bool]:
        """Read a page of messages; return whether those of ``messages`` that it covers, at least one, are there."""


@dataclass(eq=False)
class MissedChangeFinder(Generic[Place]):
    """After each gap, find what was deleted or closed during it.

    Args:
        is_responsible: whether this process looks; of those that share a store, one does.
        settling: the seconds to wait before.
    """

    surface: str
    asks: LiveMessages
    messages: Messages[Place]
    is_responsible: Callable[[], bool]
    settling: float

    def __post_init__(self) -> None:
        self._again = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start_looking(self) -> None:
        """Record that events arrive again, and look in the background."""
        if not self.is_responsible():
            return
        self._again.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look(), name=f"{self.surface} missed changes")

    async def stop(self) -> None:
        """Stop looking; the next start looks at everything."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _look(self) -> None:
        while self._again.is_set():
            await asyncio.sleep(self.settling)
            self._again.clear()
            try:
                await self._look_at_all()
            except StoreError as error:
                extra = {"action": "changes_later"}
                logger.warning("Missed changes are looked for later: %s", error, extra=extra)
                self._again.set()
            except UnauthorizedError as error:  # once the token is accepted, this starts again
                logger.warning(
                    "Missed changes cannot be looked for: %s",
                    error,
                    extra={"action": "changes_unread"},
                )
            except Exception:  # one odd message must not end the search for the others
                logger.exception("Looking failed", extra={"action": "changes_failed"})

    async def _look_at_all(self) -> None:
        places: dict[Place, dict[str, Ask]] = {}
        count = 0
        async for ask in self.asks.each_open(self.surface):
            if (located := self.messages.locate(ask)) is None:
                continue
            place, message = located
            places.setdefault(place, {})[message] = ask
            count += 1
            if count % _ASKS_AT_ONCE == 0:
                await self._look_at(places)
                places = {}
        await self._look_at(places)

    async def _look_at(self, places: Mapping[Place, Mapping[str, Ask]]) -> None:
        for place, asks in places.items():
            try:
                await self._look_at_place(place, asks)
            except DestinationGoneError as error:
                for ask in asks.values():
                    await self.asks.fail_unreachable(ask, str(error))
            except ForbiddenError:  # showing them tells the operator what to do
                for ask in asks.values():
                    await self.asks.show_again(ask.id, deleted=True)
            except UnauthorizedError:
                raise
            except PlatformError as error:
                extra = {"action": "changes_unread", "code": error.code}
                logger.warning("Messages at %s cannot be read: %s", place, error, extra=extra)

    async def _look_at_place(self, place: Place, asks: Mapping[str, Ask]) -> None:
        await call_patiently(partial(self.messages.require_open, place))
        waiting = list(asks)
        while waiting:
            found = await call_patiently(partial(self.messages.look_up, place, waiting))
            for message in waiting:
                if found.get(message) is False:
                    await self.asks.show_again(asks[message].id, deleted=True)
            waiting = [message for message in waiting if message not in found]
