"""A request's body as it arrives, for what is too large to be held at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import web

from answerback.core.errors import ProblemError

STALL_SECONDS: Final = 10.0
"""Seconds within which more of an upload has to arrive."""
UPLOAD_SECONDS: Final = 300.0
"""Seconds within which all of it has to."""


async def arriving(request: web.Request, stall: float = STALL_SECONDS) -> AsyncIterator[bytes]:
    """Yield the body as it arrives.

    Args:
        stall: seconds within which more of it has to.

    Raises:
        ProblemError: 408 if it stalls, 400 if it ends early.
    """
    ends = time.monotonic() + UPLOAD_SECONDS
    try:
        while True:
            async with asyncio.timeout(min(stall, ends - time.monotonic())):
                part = await request.content.readany()
            if not part:
                return
            yield part
    except TimeoutError:
        request.protocol.close()
        detail = (
            f"More has to arrive every {stall:g} seconds, and all of it within {UPLOAD_SECONDS:g}."
        )
        raise ProblemError(408, "Upload stalled", detail) from None
    except web.RequestPayloadError as error:
        request.content.feed_eof()  # otherwise aiohttp keeps reading after the response, fails again and logs it
        request.protocol.close()
        detail = "The body's framing does not match its headers."
        raise ProblemError(400, "Bad body", detail) from error
