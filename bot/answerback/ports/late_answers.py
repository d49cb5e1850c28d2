"""What a store keeps of the ends of asks that agents are still to be told."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from answerback.core.ask import Ask


class SeenState(IntEnum):
    """How far an agent has been told how an ask ended."""

    UNSEEN = 0
    LISTED = 1
    """In a list of late answers: the agent may ask for the list again with the number that it had before."""
    SEEN = 2
    """For good: by a call that waited, a webhook or a hook, or because the agent acknowledged the list."""


@dataclass(frozen=True, slots=True)
class LateAnswer:
    """An ended ask whose agent is to be told, with the number under which it is listed."""

    number: int
    ask: Ask


@dataclass(frozen=True, slots=True)
class LateAnswerQuery:
    """Whose late answers are wanted.

    Args:
        agent: the agent's name; empty where there are no tokens.
        conversation: of this conversation only; empty: of those asked without one; None: of any.
        after: the last number that the agent has. What was listed up to it is acknowledged, and what was
            listed behind it is listed again. None: only what it has not been told at all.
        without: ids of asks to leave out.
        limit: how many at the most.
    """

    agent: str
    conversation: str | None = None
    after: int | None = None
    without: frozenset[str] = frozenset()
    limit: int = 50


class LateAnswerStore(Protocol):
    """What agents have been told. An ask is owed from the `Write` that says so; see `Store`."""

    async def list_late_answers(self, owing: LateAnswerQuery, at: float) -> Sequence[LateAnswer]:
        """The ends of asks that an agent has not been told, in the order of their numbers.

        An ask gets its number when it is listed first, and keeps it; numbers grow and are never given twice. The
        numbers are durable before this returns, and what ``owing`` acknowledges is. Asks that cannot be read are
        left out.
        """

    async def set_seen_state(
        self, ask_ids: Collection[str], told: SeenState, at: float
    ) -> Sequence[str]:
        """Notes how far agents have been told of these asks; returns those for which that was news.

        A note is never taken back to a lesser one, except to `SeenState.UNSEEN`: then the telling failed.
        """
