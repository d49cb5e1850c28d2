"""The answer to a request whose body is not encoded as its headers say, whoever sent it."""

from __future__ import annotations

from aiohttp import web


def unreadable(request: web.Request) -> web.Response:
    """400, and the end of the connection; to be given where reading the body raised `web.RequestPayloadError`."""
    request.content.feed_eof()  # else aiohttp reads on after the answer, and fails and logs once more
    response = web.Response(status=400, text="the body is not encoded as its headers say")
    response.force_close()
    return response
