"""Receive updates as POSTs; the secret token in their header is checked before anything is parsed.

https://core.telegram.org/bots/api#setwebhook
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from aiohttp import web
from pydantic_core import from_json

from answerback.http.request_body import BodyReader
from answerback.http.unverified_connections import mark_request_verified
from answerback_telegram.connection import is_done_with

PATH: Final = "/telegram/updates"
MAX_BODY: Final = 1024 * 1024
"""Maximum bytes of an update: a message of 4,096 characters that quotes another, with all their entities."""
TOKEN_HEADER: Final = "X-Telegram-Bot-Api-Secret-Token"


def address(public_url: str | None) -> str:
    """Return the address to which Telegram posts updates."""
    return f"{(public_url or '').rstrip('/')}{PATH}"


class HttpEndpoint:
    """The HTTP endpoint for Telegram's updates.

    Args:
        secret: the secret token that Telegram was told to send.
        handle: handles one update; Telegram sends it again unless it is done with.
    """

    def __init__(self, secret: str, handle: Callable[[Mapping[str, Any]], Awaitable[None]]) -> None:
        self._secret = secret.encode()
        self._handle = handle
        self._bodies = BodyReader(MAX_BODY)

    async def handle(self, request: web.Request) -> web.Response:
        """Handle one POST; respond with 401 unless it has the secret token."""
        raw = await self._bodies.read(request)
        if isinstance(raw, web.Response):
            return raw
        given = request.headers.get(TOKEN_HEADER, "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, self._secret):
            return web.Response(status=401, text="invalid secret token")
        mark_request_verified(request)
        try:
            update = from_json(raw)
        except ValueError:
            return web.Response(status=400, text="not JSON")
        if isinstance(update, dict) and not await is_done_with(update, self._handle):
            return web.Response(status=503, text="try again")
        return web.Response()
