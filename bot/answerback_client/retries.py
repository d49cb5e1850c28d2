"""Lengths of calls, and the pauses after which one to a service that is down is tried again: standard library only."""

from __future__ import annotations

import random
import time
from typing import Final

from answerback_client.errors import ClientError, TooManyAsksError, UnreachableError, UnsentError

LONG_POLL: Final = 60
"""Seconds that one long poll lasts: short enough that no proxy on the way cuts it off."""
CALL_TIMEOUT: Final = LONG_POLL + 15.0
"""Seconds after which a single try fails."""
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 10.0


class Retries:
    """The tries of one call to a service that is down.

    Args:
        patience: seconds for which the call is tried again.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._failures = 0
        self._may_have_acted = False
        self.renew()

    def renew(self) -> None:
        """Restart the patience: the service is there."""
        self._until = time.monotonic() + self._patience

    def pause_after(self, error: ClientError, *, changes: bool, repeat: bool = True) -> float:
        """Return the seconds until the next try, or raise the error: there is none.

        Args:
            changes: whether the call may have changed something, if it was sent.
            repeat: whether the call may be sent again.
        """
        pause = _pause_after(self._failures)
        self._failures += 1
        if isinstance(error, TooManyAsksError):
            pause = max(pause, error.retry_after)
        elif isinstance(error, UnreachableError):
            self._may_have_acted |= changes and not isinstance(error, UnsentError)
            error.may_have_acted = self._may_have_acted
        if not repeat or time.monotonic() + pause > self._until:
            raise error
        return pause


def _pause_after(failures: int) -> float:
    """Seconds until the next try, random so that clients that failed together do not retry together."""
    grown: float = _FIRST_PAUSE * 2.0 ** min(failures, 10)
    return min(grown, _LONGEST_PAUSE) * random.uniform(1.0, 1.25)
