"""Repeated calls: a client that gave up asks the same again, and joins the ask that it has instead of asking twice."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ValidationError

from answerback.core.ask import Ask, Status
from answerback.core.errors import StoreError
from answerback.ports.clock import Clock
from answerback.ports.late_answers import SeenState
from answerback.ports.store import Store
from answerback.ports.store_values import Idempotency
from answerback.service.agent_presence import AgentPresence
from answerback.service.late_answers import LateAnswerTracker
from answerback.service.submission_request import Agent, Submission

logger = logging.getLogger(__name__)

JOINABLE_SECONDS: Final = 600.0
"""Seconds after the last wait in which a call without a conversation counts as a repeat."""
_ANSWERED: Final = frozenset({Status.ANSWERED, Status.CANCELLED, Status.TURN_ENDED})
"""The statuses of asks that people ended."""


class _Latest(BaseModel):
    """The latest ask of a call, and when its agent last waited for it."""

    ask_id: str
    at: float


@dataclass(frozen=True, slots=True)
class RepeatedCalls:
    """Finds the ask that a call repeats: one that is open while nobody waits for it, or whose answer nobody has got."""

    store: Store
    clock: Clock
    presence: AgentPresence
    tracker: LateAnswerTracker

    async def find(self, key: str, body: Submission, idempotency: Idempotency | None) -> Ask | None:
        """The ask that a call joins, if there is one.

        Args:
            key: the call's `join_key`.
            idempotency: the call's own key; an ask that it has created already comes first.
        """
        if idempotency and await self.store.asks.find_created(idempotency):
            return None
        latest = _read(await self.store.drafts.get(key))
        ask = None if latest is None else await self.store.asks.get(latest.ask_id)
        if latest is None or ask is None or self.presence.is_waiting(ask.id):
            return None
        if ask.request.ends_with_caller:
            return None  # one approval allows one call
        if body.conversation is None and latest.at < self.clock.now() - JOINABLE_SECONDS:
            return None
        return ask if ask.open or await self._is_owed(ask) else None

    async def save_wait(self, ask: Ask) -> None:
        """Note that the agent waits for an ask, or has just stopped."""
        if ask.request.repeat_key is None or ask.request.ends_with_caller:
            return
        key, latest = ask.request.repeat_key, _Latest(ask_id=ask.id, at=self.clock.now())
        try:
            await self.store.drafts.save(key, latest.model_dump(), latest.at, ask.id)
        except StoreError as error:  # the same call again then asks again
            extra = {"action": "wait_unnoted", "ask_id": ask.id}
            logger.warning("Could not record that an agent waits: %s", error, extra=extra)

    async def _is_owed(self, ask: Ask) -> bool:
        await self.tracker.wait_for_lost()
        return (
            ask.status in _ANSWERED
            and not self.tracker.is_held(ask.id)
            and await self.store.late_answers.get_seen_state(ask.id) is SeenState.UNSEEN
        )


def join_key(body: Submission, agent: Agent | None) -> str:
    where = body.join if body.conversation is None else None
    asked = {"name", "arguments", "to", "conversation", "responders", "confirmations"}
    same = body.model_dump(mode="json", include=asked)
    text = json.dumps([agent and agent.name, where, same], sort_keys=True)
    return f"join:{hashlib.sha256(text.encode()).hexdigest()}"


def _read(draft: object) -> _Latest | None:
    try:
        return _Latest.model_validate(draft)
    except ValidationError:
        return None
