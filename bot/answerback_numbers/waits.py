"""The times that agents waited, counted in steps whose bounds grow by a fifth. Pure.

A quantile is read from these counts, so the size of the error is known: it is at most `ERROR`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

_FIRST: Final = 0.1
"""Seconds: what is shorter counts as this long."""
_RATIO: Final = 1.2
ERROR: Final = 0.1
"""A wait of `_FIRST` or longer is stated at most this part of it too long or too short."""


def step_of(seconds: float) -> int:
    """Return the step that a wait is counted in."""
    return int(math.log(seconds / _FIRST, _RATIO)) if seconds > _FIRST else 0


def seconds_of(step: int) -> float:
    """Return the wait that stands for all that are counted in a step."""
    return _FIRST * math.pow(_RATIO, step + 0.5)


def quantile(counts: Mapping[int, int], part: float) -> float | None:
    """Return the seconds that this part of all waits did not exceed; None if there were none."""
    wanted = math.ceil(part * sum(counts.values()))
    reached = 0
    for step in sorted(counts):
        reached += counts[step]
        if reached >= wanted and reached:
            return seconds_of(step)
    return None
