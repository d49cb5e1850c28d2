"""Waiting for the end of an ask. Thousands of callers wait at a time, so they hold nothing of the ask meanwhile."""

from __future__ import annotations

import asyncio
import logging
from contextlib import nullcontext
from dataclasses import dataclass

from answerback.core import clarification
from answerback.core.ask import Ask, Change
from answerback.core.clarification import has_untold_question
from answerback.core.errors import StoreError
from answerback.service.act_or_refuse import ChangeCommitter
from answerback.service.agent_presence import AgentPresence

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Waiters:
    """The callers that wait in this process, until it stops."""

    commits: ChangeCommitter
    presence: AgentPresence
    stopping: bool = False

    def stop(self) -> None:
        """Release every caller that waits, each with the current ask."""
        self.stopping = True
        self.commits.signals.release()

    async def wait(
        self, ask_id: str, seconds: float, known: Ask | None = None, *, listens: bool = True
    ) -> Ask | None:
        """Return the ask once it has ended, or its current state when ``seconds`` have passed or the process stops.

        A waiting agent is notified immediately, and once, of what people ask back: the current ask is then returned.

        Args:
            known: with this, waiting works even if the database cannot be read at first.
            listens: whether the agent itself waits.

        Raises:
            StoreError: the database cannot be read, at the start without ``known`` or at the end.
        """
        condition = _is_news if listens else _has_ended
        try:
            # Followed before it is read, so that no commit in between is missed.
            with self.commits.signals.follow(ask_id) as follower:
                ask = await self._read(ask_id, known)
                del known  # a caller may wait for hours, and holds no ask meanwhile
                if ask is not None:
                    ask = follower.newest(ask)  # it may have been committed while it was read
                if ask is None or not ask.open or self.stopping:
                    return ask
                follower.known = max(ask.revision, follower.known or 0)
                if condition(ask):
                    follower.wake(ask)
                tracked_wait = self.presence.track_wait(ask) if listens else nullcontext()
                del ask
                async with tracked_wait:
                    ask = await follower.wait_until(condition, seconds)
        except asyncio.CancelledError:
            if listens:
                self.presence.note_cut_off(ask_id)
            raise
        ask = ask or await self.commits.store.asks.get(ask_id)
        if listens and ask is not None and has_untold_question(ask):
            await self._mark_asides_told(ask)
        return ask

    async def _read(self, ask_id: str, known: Ask | None) -> Ask | None:
        try:
            return await self.commits.store.asks.get(ask_id)
        except StoreError as error:
            if known is None:
                raise
            logger.warning("Waiting without reading the ask: %s", error, extra={"ask_id": ask_id})
            return known

    async def _mark_asides_told(self, ask: Ask) -> None:
        """Note that the agent has received what people asked back; if this fails, it gets it again."""
        try:
            await self.commits.change(
                ask.id,
                lambda latest, _: Change(
                    clarification.mark_asides_told(latest, len(ask.asides)), ()
                ),
            )
        except StoreError as error:
            extra = {"action": "clarify_unnoted", "ask_id": ask.id}
            logger.warning("Could not record that the agent was asked back: %s", error, extra=extra)


def _has_ended(ask: Ask) -> bool:
    return not ask.open


def _is_news(ask: Ask) -> bool:
    """Return True if there is something to report to a waiting agent."""
    return not ask.open or has_untold_question(ask)
