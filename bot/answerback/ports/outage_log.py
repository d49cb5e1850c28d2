"""Log a platform's outage: a line when it begins, one when it ends, and one every few minutes in between."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

REMIND_AFTER: Final = 300.0
"""Seconds after which the log repeats that an outage continues, and why."""


class Outage:
    """The parts of a platform that cannot be reached now. The outage ends once all of them can.

    Args:
        logger: the logger of the module that calls the platform.
        platform: its name, for the log.
        now: a monotonic clock, in seconds.
    """

    def __init__(
        self,
        logger: logging.Logger,
        platform: str,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._logger = logger
        self._platform = platform
        self._now = now
        self._unreachable: set[str] = set()
        self._began = self._logged_at = 0.0

    def record_failure(self, part: str, why: object) -> None:
        """Record that a part of the platform could not be reached; the first failure begins an outage."""
        now = self._now()
        begins = not self._unreachable
        self._unreachable.add(part)
        if begins:
            self._began = now
        elif now - self._logged_at < REMIND_AFTER:
            return
        self._logged_at = now
        extra = {"action": "platform_unreachable", "platform": self._platform, "part": part}
        lasts = "" if begins else f" for {(now - self._began) / 60:.0f} minutes"
        text = "%s cannot be reached%s; retrying with growing pauses: %s"
        self._logger.warning(text, self._platform, lasts, why, extra=extra)

    def record_success(self, part: str) -> None:
        """Record that a part can be reached."""
        if part not in self._unreachable:
            return
        self._unreachable.discard(part)
        if not self._unreachable:
            extra = {"action": "platform_reached", "platform": self._platform, "part": part}
            minutes = (self._now() - self._began) / 60
            text = "%s can be reached again after %.1f minutes"
            self._logger.warning(text, self._platform, minutes, extra=extra)
