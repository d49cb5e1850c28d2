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
from answerback.ports.late_answers import LateAnswer, LateAnswerQuery, SeenState
from answerback.ports.store import Store

logger = logging.getLogger(__name__)

HoldKey = tuple[str, SeenState]
"""An agent's name, and how it is told: the response carries the ask alone, or in a list."""


class LateAnswerTracker:
    """What agents are told in this process."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._carried: dict[HoldKey, Counter[str]] = {}
        """The asks that a response tells of now, or is to tell of once they end."""

    def track_response(self, sent: Callable[[ResponseTracker], SentResponse]) -> ResponseTracker:
        """What one response tells; see `ResponseTracker`."""
        return ResponseTracker(self, sent)

    async def list_unseen(
        self, agent: str | None, conversation: str | None, after: int | None, limit: int
    ) -> Sequence[LateAnswer]:
        """What an agent has not been told, without what another call is telling it; see `LateAnswerQuery`."""
        name = agent or ""
        # Who says what they have is given again what is in a list that may be lost.
        kinds = (SeenState.SEEN,) if after is not None else (SeenState.SEEN, SeenState.LISTED)
        without = frozenset(one for kind in kinds for one in self._carried.get((name, kind), ()))
        owing = LateAnswerQuery(name, conversation, after, without, limit)
        return await self._store.list_late_answers(owing, self._clock.now())

    async def save_seen(self, ask_ids: Sequence[str], told: SeenState) -> Sequence[str]:
        """Notes what agents were told; the ids of the asks for which that was news.

        A store that fails takes no response back: the agent is then told once more.
        """
        try:
            return await self._store.set_seen_state(ask_ids, told, self._clock.now())
        except StoreError as error:
            extra = {"action": "telling_unnoted"}
            logger.warning("What an agent was told is not noted: %s", error, extra=extra)
            return ()

    def hold(self, ask_id: str, whose: HoldKey) -> None:
        """Keeps an ask out of the lists of late answers."""
        self._carried.setdefault(whose, Counter())[ask_id] += 1

    def release(self, ask_id: str, whose: HoldKey) -> None:
        """Lets it be listed again."""
        held = self._carried[whose]
        held[ask_id] -= 1
        if not held[ask_id]:
            del held[ask_id]
        if not held:
            del self._carried[whose]


class SentResponse(Protocol):
    """A response that was sent."""

    async def wait_until_gone(self) -> None:
        """Returns once the client has left, or after a moment."""


class ResponseTracker:
    """One response to an agent, and the ends of asks that it tells.

    Small, because each call that waits has one: it holds no ask, and makes a lock only once it notes something.

    Args:
        sent: called when the response was sent: it sees to `save_seen`, `undo_seen` and `close`.
    """

    __slots__ = ("_held", "_news", "_noting", "_sent", "_telling", "_tells", "is_sent")

    def __init__(
        self, telling: LateAnswerTracker, sent: Callable[[ResponseTracker], SentResponse]
    ) -> None:
        self._telling = telling
        self._sent = sent
        self._held: dict[str, HoldKey] = {}
        self._tells: dict[str, SeenState] = {}
        self._news: Sequence[str] = ()
        self._noting: asyncio.Lock | None = None
        self.is_sent = False
        """Whether what it tells was sent: it is closed once that is noted."""

    @property
    def has_outcomes(self) -> bool:
        """Whether it tells the end of any ask."""
        return bool(self._tells)

    def hold_back(self, ask: Ask, told: SeenState = SeenState.SEEN) -> None:
        """The response is to tell how this ask ends: no list does meanwhile."""
        if ask.id not in self._held:
            self._held[ask.id] = whose = (ask.request.agent or "", told)
            self._telling.hold(ask.id, whose)

    def add_outcome(self, ask: Ask, told: SeenState = SeenState.SEEN) -> None:
        """The response has this ask in it, which is news to the agent where it has ended."""
        if not ask.open:
            self.hold_back(ask, told)
            self._tells[ask.id] = told

    def mark_sent(self) -> SentResponse:
        """All that it has to tell was sent; nothing is listed until that is noted."""
        self.is_sent = True
        return self._sent(self)

    async def finish_stream(self) -> None:
        """The last event of a stream was sent: the client may leave with it, and has a moment for that."""
        if self._tells and not self.is_sent:
            await self.mark_sent().wait_until_gone()

    async def save_seen(self) -> None:
        """Notes that the agent has been told."""
        async with self._alone():
            for told in set(self._tells.values()):
                ids = [ask_id for ask_id, how in self._tells.items() if how is told]
                self._news = (*self._news, *await self._telling.save_seen(ids, told))

    async def undo_seen(self) -> None:
        """Takes back what was noted: the response did not arrive."""
        async with self._alone():
            if self._news:
                await self._telling.save_seen(self._news, SeenState.UNSEEN)

    def close(self) -> None:
        """The response is over, whatever became of it."""
        for ask_id, whose in self._held.items():
            self._telling.release(ask_id, whose)
        self._held = {}

    def _alone(self) -> asyncio.Lock:
        if self._noting is None:
            self._noting = asyncio.Lock()
        return self._noting
