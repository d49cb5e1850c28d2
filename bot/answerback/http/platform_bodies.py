"""Read the request bodies that platforms and browsers send: bounded until the sender is known.

Rejections are plain text.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

from answerback.http.request_body import BodyError, BodyMemoryBudget, receive_body

_POOL: Final = 16 * 1024 * 1024
"""Total bytes of large bodies that may be arriving at one endpoint at a time."""


class BodyReader:
    """Reads the request bodies of one endpoint.

    Args:
        max_bytes: the size limit of one body.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._pool = BodyMemoryBudget(_POOL)

    async def read(self, request: web.Request) -> bytes | web.Response:
        """Return the body, or the response that rejects the request."""
        try:
            return await receive_body(request, self._max_bytes, pool=self._pool)
        except BodyError as error:
            return web.Response(status=error.status, text=str(error))
