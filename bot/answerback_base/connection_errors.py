"""Why a connection to a platform or an agent's server failed."""

from __future__ import annotations

import os
from http import HTTPStatus


def reason_of(error: BaseException) -> str:
    """Return the end of a sentence for people, without the addresses and calls in the error."""
    if isinstance(error, TimeoutError):
        return "the request timed out"
    cause = getattr(error, "os_error", error)
    number = getattr(cause, "errno", None)
    if isinstance(number, int) and number > 0:  # resolvers' errors have a negative number, or none
        return os.strerror(number)
    return str(getattr(cause, "strerror", None) or cause)


def is_temporary(status: int) -> bool:
    """Return True if a server, or a proxy in its place, answers with this status what it may accept later."""
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS
