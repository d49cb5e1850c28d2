"""Why a connection to a platform or an agent's server failed, for people."""

from __future__ import annotations

import os


def reason_of(error: BaseException) -> str:
    """Return the end of a sentence, without the addresses and calls in the error."""
    if isinstance(error, TimeoutError):
        return "the request timed out"
    cause = getattr(error, "os_error", error)
    number = getattr(cause, "errno", None)
    if isinstance(number, int) and number > 0:  # resolvers' errors have a negative number, or none
        return os.strerror(number)
    return str(getattr(cause, "strerror", None) or cause)
