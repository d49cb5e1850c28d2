"""Telling agents how their asks ended: each once, by whatever response carries it, and late where nobody waited.

What an agent was told is noted once the response was sent, and taken back where it turns out that it did not arrive:
a crash in between tells an agent twice rather than never.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.ports.clock import Clock
from answerback.ports.late_answers import Owed, Owing, Told
from answerback.ports.store import Store

logger = logging.getLogger(__name__)

Whose = tuple[str, Told]
"""An agent's name, and how it is told: the response carries the ask alone, or in a list."""


class Telling:
    """What agents are told in this process."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._carried: dict[Whose, Counter[str]] = {}
        """The asks that a response tells of now, or is to tell of once they end."""

    def carrier(self, sent: Callable[[Carrier], Sent]) -> Carrier:
        """What one response tells; see `Carrier`."""
        return Carrier(self, sent)

    async def late(
        self, agent: str | None, conversation: str | None, after: int | None, limit: int
    ) -> Sequence[Owed]:
        """What an agent has not been told, without what another call is telling it; see `Owing`."""
        name = agent or ""
        # Who says what they have is given again what is in a list that may be lost.
        kinds = (Told.TOLD,) if after is not None else (Told.TOLD, Told.LISTED)
        without = frozenset(one for kind in kinds for one in self._carried.get((name, kind), ()))
        owing = Owing(name, conversation, after, without, limit)
        return await self._store.owed(owing, self._clock.now())

    async def note(self, ask_ids: Sequence[str], told: Told) -> Sequence[str]:
        """Notes what agents were told; the ids of the asks for which that was news.

        A store that fails takes no response back: the agent is then told once more.
        """
        try:
            return await self._store.told(ask_ids, told, self._clock.now())
        except StoreError as error:
            extra = {"action": "telling_unnoted"}
            logger.warning("What an agent was told is not noted: %s", error, extra=extra)
            return ()

    def hold(self, ask_id: str, whose: Whose) -> None:
        """Keeps an ask out of the lists of late answers."""
        self._carried.setdefault(whose, Counter())[ask_id] += 1

    def release(self, ask_id: str, whose: Whose) -> None:
        """Lets it be listed again."""
        held = self._carried[whose]
        held[ask_id] -= 1
        if not held[ask_id]:
            del held[ask_id]
        if not held:
            del self._carried[whose]


class Sent(Protocol):
    """A response that was sent."""

    async def left(self) -> None:
        """Returns once the client has left, or after a moment."""


class Carrier:
    """One response to an agent, and the ends of asks that it tells.

    Small, because each call that waits has one: it holds no ask, and makes a lock only once it notes something.

    Args:
        sent: called when the response was sent: it sees to `note`, `take_back` and `close`.
    """

    __slots__ = ("_held", "_news", "_noting", "_sent", "_telling", "_tells", "is_sent")

    def __init__(self, telling: Telling, sent: Callable[[Carrier], Sent]) -> None:
        self._telling = telling
        self._sent = sent
        self._held: dict[str, Whose] = {}
        self._tells: dict[str, Told] = {}
        self._news: Sequence[str] = ()
        self._noting: asyncio.Lock | None = None
        self.is_sent = False
        """Whether what it tells was sent: it is closed once that is noted."""

    @property
    def tells(self) -> bool:
        """Whether it tells the end of any ask."""
        return bool(self._tells)

    def carry(self, ask: Ask, told: Told = Told.TOLD) -> None:
        """The response is to tell how this ask ends: no list does meanwhile."""
        if ask.id not in self._held:
            self._held[ask.id] = whose = (ask.request.agent or "", told)
            self._telling.hold(ask.id, whose)

    def tell(self, ask: Ask, told: Told = Told.TOLD) -> None:
        """The response has this ask in it, which is news to the agent where it has ended."""
        if not ask.open:
            self.carry(ask, told)
            self._tells[ask.id] = told

    def sent(self) -> Sent:
        """All that it has to tell was sent; nothing is listed until that is noted."""
        self.is_sent = True
        return self._sent(self)

    async def streamed_out(self) -> None:
        """The last event of a stream was sent: the client may leave with it, and has a moment for that."""
        if self._tells and not self.is_sent:
            await self.sent().left()

    async def note(self) -> None:
        """Notes that the agent has been told."""
        async with self._alone():
            for told in set(self._tells.values()):
                ids = [ask_id for ask_id, how in self._tells.items() if how is told]
                self._news = (*self._news, *await self._telling.note(ids, told))

    async def take_back(self) -> None:
        """Takes back what was noted: the response did not arrive."""
        async with self._alone():
            if self._news:
                await self._telling.note(self._news, Told.NOT)

    def close(self) -> None:
        """The response is over, whatever became of it."""
        for ask_id, whose in self._held.items():
            self._telling.release(ask_id, whose)
        self._held = {}

    def _alone(self) -> asyncio.Lock:
        if self._noting is None:
            self._noting = asyncio.Lock()
        return self._noting
