"""The times at which something happens to an open ask. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from answerback.core.person import EpochSeconds, StrictDataclass
from answerback.core.placement import Destination


@dataclass(frozen=True, kw_only=True)
class Schedule(StrictDataclass):
    """The deadline of an ask, its reminders, and which of its timed steps are done."""

    expires_at: EpochSeconds | None = None
    clock_set_back: float = 0.0
    """Seconds by which the clock was set back since creation, so that reminders count elapsed time."""
    reminders_done: int = 0
    """The number of reminders that are done, with those of before."""
    reminders_done_before: int = 0
    reminders_restarted_at: float = 0.0
    """The number of reminders before the current series, and when that series began, in seconds from creation."""
    recipient_ids: tuple[str, ...] = ()
    """The ids of the person to whom it was handed over last; the next reminder tells them alone."""
    hand_over_failed: bool = False
    """True if nobody could be reached where it was handed over to: ``recipient_ids`` then has it back."""
    unreachable: tuple[Destination, ...] = ()
    """The direct messages that it was handed over to and that reached nobody."""
    escalated: bool = False
    awaits_inquiry: bool = False
    """True if the inquiry backend, not a surface, is to answer the open question."""
