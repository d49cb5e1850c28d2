"""The JSON bodies of requests and of answers."""

from __future__ import annotations

import asyncio
import json
from typing import Final

from aiohttp import web
from pydantic import JsonValue

from answerback.core.errors import ProblemError
from answerback.http.json_parsing import parse_json
from answerback.service.agent_requests import read_body

_QUICK: Final = 32 * 1024
"""Bytes of JSON that are read at once; reading the largest body takes up to 60 ms, and is done in a thread."""


async def read_json(request: web.Request) -> JsonValue:
    """The body of a request as JSON.

    Raises:
        ProblemError: 400, 413 or 415.
    """
    if request.content_type != "application/json":
        sent = request.headers.get("Content-Type", "no Content-Type")[:100]
        raise ProblemError(
            415, "Not JSON", f"The body came with {sent!r}: send Content-Type: application/json."
        )
    if (request.charset or "utf-8").lower() not in {"utf-8", "utf8"}:
        raise ProblemError(
            415, "Not UTF-8", "JSON is read in UTF-8 only: send it so, with no other charset."
        )
    body = await read_body(request)
    return parse_json(body) if len(body) <= _QUICK else await asyncio.to_thread(parse_json, body)


def dump_json(value: object) -> bytes:
    """A JSON value in UTF-8; half a surrogate pair as the escape it came in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "backslashreplace")
