"""What an app may have and does not need: that Slack refuses it is noticed once, and it is left alone for a while."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from typing import Final

from answerback.core.errors import PlatformError

logger = logging.getLogger(__name__)

RETRY_AFTER_SECONDS: Final = 3_600.0
"""How long what was refused is not tried again: an operator may have mended it meanwhile."""


class OptionalFeature:
    """One thing that only some apps can do.

    Args:
        what: its name, for the log.
        fix: how an operator switches it on.
        codes: the errors by which Slack says that this app cannot.
    """

    def __init__(self, what: str, fix: str, codes: Collection[str]) -> None:
        self._what = what
        self._fix = fix
        self._codes = codes
        self._until = 0.0
        self._told = False

    @property
    def is_on(self) -> bool:
        """Whether to try it."""
        return time.monotonic() >= self._until

    def turn_off_if_unsupported(self, error: PlatformError) -> bool:
        """Takes in an error; whether it says that this app cannot. Only the first one is logged."""
        if error.code not in self._codes:
            return False
        self._until = time.monotonic() + RETRY_AFTER_SECONDS
        if not self._told:
            extra = {"action": "capability_off", "code": error.code}
            logger.info(
                "Slack refuses %s (%s), so the app does without: %s",
                self._what, error.code, self._fix, extra=extra,
            )  # fmt: skip
        self._told = True
        return True

    def confirm_supported(self) -> None:
        """It was done: if it is refused again, that is news."""
        self._told, self._until = False, 0.0
