"""Why a connection failed, in words for people: errors of sockets and of aiohttp name addresses and calls."""

from __future__ import annotations

import os


def reason_of(error: BaseException) -> str:
    """What an error means, as the end of a sentence."""
    if isinstance(error, TimeoutError):
        return "it took too long"
    cause = getattr(error, "os_error", error)
    number = getattr(cause, "errno", None)
    if isinstance(number, int) and number > 0:  # what resolvers raise has another number, or none
        return os.strerror(number)
    return str(getattr(cause, "strerror", None) or cause)
