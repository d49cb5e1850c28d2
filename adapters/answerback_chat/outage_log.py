"""An outage of a platform in the log: a line when it begins, one when it is over, and one every few minutes between."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

REMIND_AFTER: Final = 300.0
"""Seconds of an outage after which the log says again that it lasts, and why."""


class Outage:
    """What of a platform cannot be reached now. It is over once all of it can be reached.

    Args:
        logger: of the module that calls the platform.
        platform: its name, for the log.
        now: seconds on a clock that only goes forward.
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
        self._out: set[str] = set()
        self._began = self._told = 0.0

    def record_failure(self, part: str, why: object) -> None:
        """A part of the platform could not be reached, by which it is known that there is an outage."""
        now = self._now()
        begins = not self._out
        self._out.add(part)
        if begins:
            self._began = now
        elif now - self._told < REMIND_AFTER:
            return
        self._told = now
        extra = {"action": "platform_unreachable", "platform": self._platform, "part": part}
        lasts = "" if begins else f" for {(now - self._began) / 60:.0f} minutes"
        words = "%s cannot be reached%s, and is tried again with growing pauses: %s"
        self._logger.warning(words, self._platform, lasts, why, extra=extra)

    def record_success(self, part: str) -> None:
        """A part can be reached, again or for the first time."""
        if part not in self._out:
            return
        self._out.discard(part)
        if not self._out:
            extra = {"action": "platform_reached", "platform": self._platform, "part": part}
            minutes = (self._now() - self._began) / 60
            words = "%s can be reached again, after %.1f minutes"
            self._logger.warning(words, self._platform, minutes, extra=extra)
