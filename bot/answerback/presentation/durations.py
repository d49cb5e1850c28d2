"""Durations and times ago, in words. Pure."""

from __future__ import annotations

from typing import Final

from answerback.core.labels import Labels
from answerback.core.view import View

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_HOURS_SHOWN: Final = 2 * _DAY
"""Seconds up to which hours are counted, not days."""


def duration(seconds: float, labels: Labels) -> str:
    """``40 s``, ``3 min``, ``5 h`` or ``2 d``, rounded down."""
    whole = max(int(seconds), 0)
    if whole < _MINUTE:
        return labels.seconds.format(n=whole)
    if whole < _HOUR:
        return labels.minutes.format(n=whole // _MINUTE)
    if whole < _HOURS_SHOWN:
        return labels.hours.format(n=whole // _HOUR)
    return labels.days.format(n=whole // _DAY)


def age(seconds: float, labels: Labels) -> str:
    """``just now``, ``3 min ago``."""
    if seconds < _MINUTE:
        return labels.age_now
    return labels.ago.format(time=duration(seconds, labels))


def waited(view: View, labels: Labels) -> str:
    """``after 3 min``: how long an ask waited for its end; empty while it is open."""
    if view.outcome is None:
        return ""
    return labels.waited.format(time=duration(view.outcome.at - view.asked_at, labels))
