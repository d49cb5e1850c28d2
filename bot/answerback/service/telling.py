"""Telling agents how their asks ended: each once, by whatever response carries it, and late where nobody waited.

What an agent was told is noted once the response was sent, and taken back where it turns out that it did not arrive:
a crash in between tells an agent twice rather than never.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.ports.clock import Clock
from answerback.ports.store import Store
from answerback.ports.telling import Owed, Owing, Told

logger = logging.getLogger(__name__)


class Telling:
    """What agents are told in this process."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._carried: dict[str, Counter[str]] = {}
        """The asks, by agent, that a response is to tell of once they end, or is telling of now."""

    def carrier(self, sent: Callable[[], Awaitable[Sent]]) -> Carrier:
        """What one response tells; see `Carrier`."""
        return Carrier(self, sent)

    async def late(
        self, agent: str | None, conversation: str | None, after: int | None, limit: int
    ) -> Sequence[Owed]:
        """What an agent has not been told, without what another call is telling it; see `Owing`."""
        name = agent or ""
        without = frozenset(self._carried.get(name, ()))
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

    def hold(self, ask: Ask) -> None:
        """Keeps an ask out of the lists of late answers."""
        self._carried.setdefault(ask.request.agent or "", Counter())[ask.id] += 1

    def release(self, ask: Ask) -> None:
        """Lets it be listed again."""
        name = ask.request.agent or ""
        held = self._carried[name]
        held[ask.id] -= 1
        if not held[ask.id]:
            del held[ask.id]
        if not held:
            del self._carried[name]


class Sent(Protocol):
    """A response that was sent."""

    async def left(self) -> None:
        """Returns once the client has left, or after a moment."""


class Carrier:
    """One response to an agent, and the ends of asks that it tells.

    Args:
        sent: called when the response was sent; see to it that `note` and `take_back` are called.
    """

    def __init__(self, telling: Telling, sent: Callable[[], Awaitable[Sent]]) -> None:
        self._telling = telling
        self._sent = sent
        self._held: dict[str, Ask] = {}
        self._tells: dict[str, Told] = {}
        self._news: list[str] = []
        self._noting = asyncio.Lock()
        self.streamed = False
        """Whether it told what it had to tell before its end."""

    @property
    def tells(self) -> bool:
        """Whether it tells the end of any ask."""
        return bool(self._tells)

    def carry(self, ask: Ask) -> None:
        """The response is to tell how this ask ends: no list does meanwhile."""
        if ask.id not in self._held:
            self._held[ask.id] = ask
            self._telling.hold(ask)

    def tell(self, ask: Ask, told: Told = Told.TOLD) -> None:
        """The response has this ask in it, which is news to the agent where it has ended."""
        if not ask.open:
            self.carry(ask)
            self._tells[ask.id] = told

    async def sent(self) -> None:
        """The whole response was sent."""
        await self._sent()

    async def streamed_out(self) -> None:
        """The last event of a stream was sent: the client may leave with it, and has a moment for that."""
        if self._tells and not self.streamed:
            self.streamed = True
            await (await self._sent()).left()

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keeps what is told out of the lists, also where the response is over before it is noted."""
        held = list(self._held.values())
        for ask in held:
            self._telling.hold(ask)
        try:
            yield
        finally:
            for ask in held:
                self._telling.release(ask)

    async def note(self) -> None:
        """Notes that the agent has been told."""
        async with self._noting:
            for told in set(self._tells.values()):
                ids = [ask_id for ask_id, how in self._tells.items() if how is told]
                self._news += await self._telling.note(ids, told)

    async def take_back(self) -> None:
        """Takes back what was noted: the response did not arrive."""
        async with self._noting:
            if self._news:
                await self._telling.note(self._news, Told.NOT)

    def close(self) -> None:
        """The response is over, whatever became of it."""
        for ask in self._held.values():
            self._telling.release(ask)
        self._held = {}
