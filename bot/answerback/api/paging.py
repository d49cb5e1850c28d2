"""Pages of rows: the query's cursor and limit, and the response with a link to the next page."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, TypeVar
from urllib.parse import urlencode

from aiohttp import web
from pydantic import JsonValue

from answerback.api.operation import Call, json_response
from answerback.core.errors import ProblemError

T = TypeVar("T")

NEXT: Final = {"Link": "The next page, with rel=next, if there is one."}
"""The header of a response with a page."""


async def checked_cursor(reading: Awaitable[T]) -> T:
    """Return a page that is being read.

    Raises:
        ProblemError: 400; the cursor did not come from a page.
    """
    try:
        return await reading
    except ValueError as error:
        detail = "`after` is not a valid cursor: pass the `next` of the previous page unchanged."
        raise ProblemError(400, "Bad query", detail) from error


def page_response(
    call: Call, name: str, rows: list[JsonValue], after: str | int | None
) -> web.Response:
    """Build the response with a page, with the Link header to the next one (RFC 8288) unless it is the last."""
    headers = None
    if after is not None:
        query = urlencode({**call.request.query, "after": str(after)})
        headers = {"Link": f'<{call.request.path}?{query}>; rel="next"'}
    return json_response({name: rows, "next": after}, headers=headers)
