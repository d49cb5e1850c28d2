"""The value that says if the agent of an ask still waits for it."""

from __future__ import annotations

from dataclasses import dataclass

from answerback.core.person import StrictDataclass


@dataclass(frozen=True, kw_only=True)
class Attendance(StrictDataclass):
    """The time for which the agent waits for an ask, and if it still does."""

    wait_seconds: float | None = None
    """Seconds from creation for which the agent waits, unless it extends that; None: indefinitely."""
    agent_left: bool = False
    """True once the agent has stopped waiting. People are shown this, and their answer still counts."""
