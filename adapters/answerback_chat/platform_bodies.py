"""What platforms and browsers send, as bytes: bounded until it is known who sent it, and refused in plain text."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from answerback.http.request_body import BodyError, BodyMemoryBudget, receive_body

_POOL: Final = 16 * 1024 * 1024
"""Bytes of large bodies that are arriving at one endpoint, all together."""


class BodyReader:
    """The bodies of one endpoint.

    Args:
        most: bytes that one may have.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._pool = BodyMemoryBudget(_POOL)

    async def read(self, request: web.Request) -> bytes | web.Response:
        """A body, or the answer to a request whose body is not taken."""
        try:
            return await receive_body(request, self._most, pool=self._pool)
        except BodyError as error:
            return web.Response(status=error.status, text=str(error))
