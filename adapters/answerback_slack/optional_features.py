"""Features that an app may lack. When Slack rejects one, it is logged once and not tried again for a while."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from typing import Final

from answerback.core.errors import PlatformError

logger = logging.getLogger(__name__)

RETRY_AFTER_SECONDS: Final = 3_600.0
"""Seconds for which a rejected feature is not tried again. After that, an operator may have enabled it."""


class OptionalFeature:
    """A Slack feature that only some apps may use.

    Args:
        name: the feature's name, for the log.
        advice: how an operator enables it, or what happens without it; for the log.
        codes: the error codes with which Slack reports that this app may not use it.
    """

    def __init__(self, name: str, advice: str, codes: Collection[str]) -> None:
        self._name = name
        self._advice = advice
        self._codes = codes
        self._off_until = 0.0
        self._logged = False

    @property
    def is_on(self) -> bool:
        return time.monotonic() >= self._off_until

    def turn_off_if_unsupported(self, error: PlatformError) -> bool:
        """Turn the feature off if the error says that this app may not use it; return whether it does.

        Only the first such error is logged.
        """
        if error.code not in self._codes:
            return False
        self._off_until = time.monotonic() + RETRY_AFTER_SECONDS
        if not self._logged:
            extra = {"action": "capability_off", "code": error.code}
            logger.info(
                "Slack rejected %s (%s), so the app does without: %s",
                self._name, error.code, self._advice, extra=extra,
            )  # fmt: skip
        self._logged = True
        return True

    def confirm_supported(self) -> None:
        """Record that the feature worked, so that a later rejection is logged again."""
        self._logged, self._off_until = False, 0.0
