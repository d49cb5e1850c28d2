"""Waiting for the end of an ask. Callers wait by the thousand, so while they wait nothing of the ask is held."""

from __future__ import annotations

import logging
from contextlib import nullcontext

from answerback.core import clarification
from answerback.core.ask import Ask, Change
from answerback.core.clarification import has_untold_question
from answerback.core.errors import StoreError
from answerback.service.act_or_refuse import ChangeCommitter
from answerback.service.agent_presence import AgentPresence

logger = logging.getLogger(__name__)


class Waiters:
    """Those who wait in this process, until it stops."""

    def __init__(self, commits: ChangeCommitter, listeners: AgentPresence) -> None:
        self._commits = commits
        self._listeners = listeners
        self.stopping = False

    def stop(self) -> None:
        """Releases everybody who waits, each with the ask as it stands."""
        self.stopping = True
        self._commits.signals.release()

    async def wait(
        self, ask_id: str, seconds: float, known: Ask | None, *, listens: bool
    ) -> Ask | None:
        """The ask once it has ended, or as it stands then (see `answerback.service.service.Service.wait`)."""
        over = _is_news if listens else _has_ended
        with self._commits.signals.follow(ask_id) as follower:
            ask = await self._read(ask_id, known)
            del known
            if ask is None or not ask.open or self.stopping:
                return ask
            follower.known = max(ask.revision, follower.known or 0)
            if over(ask):
                follower.wake(ask)
            listening = self._listeners.track_wait(ask) if listens else nullcontext()
            del ask
            async with listening:
                ask = await follower.wait_until(over, seconds)
        ask = ask or await self._commits.store.get(ask_id)
        if listens and ask is not None and has_untold_question(ask):
            await self._told(ask)
        return ask

    async def _read(self, ask_id: str, known: Ask | None) -> Ask | None:
        try:
            return await self._commits.store.get(ask_id)
        except StoreError as error:
            if known is None:
                raise
            logger.warning("Waiting without reading: %s", error, extra={"ask_id": ask_id})
            return known

    async def _told(self, ask: Ask) -> None:
        """Notes that the agent has been told what it was asked; where that fails, it is told again."""
        try:
            await self._commits.change(
                ask.id,
                lambda latest, _: Change(
                    clarification.mark_asides_told(latest, len(ask.asides)), ()
                ),
            )
        except StoreError as error:
            extra = {"action": "clarify_unnoted", "ask_id": ask.id}
            logger.warning("That the agent was asked back is not noted: %s", error, extra=extra)


def _has_ended(ask: Ask) -> bool:
    return not ask.open


def _is_news(ask: Ask) -> bool:
    """Whether an agent who waits for an ask is to be told how it stands."""
    return not ask.open or has_untold_question(ask)
