"""The value that says if the agent of an ask still waits for it."""

from __future__ import annotations

from dataclasses import dataclass

from answerback.core.person import StrictDataclass


@dataclass(frozen=True, kw_only=True)
class Attendance(StrictDataclass):
    """How long the agent waits for an ask, and whether it still does."""

    attended_for: float | None = None
    """How long the agent waits, in seconds from creation, unless it extends that; None: indefinitely."""
    unattended: bool = False
    """True once the agent has stopped waiting. People are shown this, and their answer still counts."""
