"""The parts of an ask that its agent has collected. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from answerback.core.person import EpochSeconds, StrictDataclass


@dataclass(frozen=True, kw_only=True)
class Collection(StrictDataclass):
    """The record of what the agent of an ask has read, and of when it did what was allowed."""

    asides_told: int = 0
    """The number of asides that a waiting call has reported to the agent."""
    unread_by_agent: bool = False
    read_by_agent_at: EpochSeconds | None = None
    """When its agent got the outcome, or what a person has told it since; ``unread_by_agent``: it has yet to."""
    consumed_at: EpochSeconds | None = None
    """When what an approval allowed was done, for those who make sure that it is done once."""
