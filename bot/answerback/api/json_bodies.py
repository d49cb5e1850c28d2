"""Read JSON request bodies and write JSON response bodies."""

from __future__ import annotations

import asyncio
import json
from typing import Final

from aiohttp import web
from pydantic import JsonValue

from answerback.core.errors import ProblemError
from answerback.http.json_parsing import parse_json
from answerback.service.agent_requests import read_body

_MAX_INLINE_PARSE: Final = 32 * 1024
"""Bytes of JSON to parse on the event loop. Larger bodies, which take up to 60 ms, are parsed in a thread."""


async def read_json(request: web.Request) -> JsonValue:
    """Read the body of a request as JSON.

    Raises:
        ProblemError: 400, 413 or 415.
    """
    if request.content_type != "application/json":
        content_type = request.headers.get("Content-Type", "no Content-Type")[:100]
        raise ProblemError(
            415,
            "Not JSON",
            f"The body was sent as {content_type!r}; send Content-Type: application/json.",
        )
    if (request.charset or "utf-8").lower() not in {"utf-8", "utf8"}:
        raise ProblemError(
            415, "Not UTF-8", "JSON must be sent as UTF-8: remove the charset or set it to utf-8."
        )
    body = await read_body(request)
    return (
        parse_json(body)
        if len(body) <= _MAX_INLINE_PARSE
        else await asyncio.to_thread(parse_json, body)
    )


def dump_json(value: object) -> bytes:
    """Serialise a JSON value as UTF-8; lone surrogates are written as the escapes they came in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "backslashreplace")
