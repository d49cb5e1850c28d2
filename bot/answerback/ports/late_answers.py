"""Late answers: the ended asks whose outcomes a store still has to report to agents."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from answerback.core.ask import Ask


class SeenState(IntEnum):
    """The part of an ask's outcome that an agent has seen."""

    UNSEEN = 0
    LISTED = 1
    """In a list of late answers: the agent may request the list again with the number that it had before."""
    SEEN = 2
    """Delivered for good: by a call that waited, a webhook or a hook, or because the agent acknowledged the list."""


@dataclass(frozen=True, slots=True)
class LateAnswer:
    """An ended ask to report to its agent, with the number under which it is listed."""

    number: int
    ask: Ask


@dataclass(frozen=True, slots=True)
class LateAnswerQuery:
    """Selects the late answers of an agent.

    Args:
        agent: the agent's name; empty if there are no tokens.
        conversation: only this conversation; empty: only asks without a conversation; None: all.
        after: the last number that the agent has. Everything listed up to it is acknowledged, and everything
            listed after it is listed again. None: only what the agent has not seen at all.
        without: ids of asks to leave out.
        limit: how many at most.
    """

    agent: str
    conversation: str | None = None
    after: int | None = None
    without: frozenset[str] = frozenset()
    limit: int = 50


class LateAnswerStore(Protocol):
    """Keeps track of which outcomes agents have seen. A `Write` marks an ask as owed to its agent."""

    async def list_owed(self, query: LateAnswerQuery, at: float) -> Sequence[LateAnswer]:
        """The ended asks whose outcomes an agent has not seen, in the order of their numbers.

        An ask gets its number when it is first listed, and keeps it; numbers increase and are never reused. The numbers
        and the acknowledgement in ``query`` are durable before this returns. Asks that cannot be read are left out.
        """

    async def set_seen_state(
        self, ask_ids: Collection[str], state: SeenState, at: float
    ) -> Sequence[str]:
        """Note how much agents have seen of these asks; return the ids of those for which that is new.

        The state never goes back to a lower one, except to `SeenState.UNSEEN` after the response failed to arrive.
        """

    async def get_seen_state(self, ask_id: str) -> SeenState:
        """Return the part of an ask's outcome that an agent has seen; `SeenState.SEEN` if nothing is owed."""
