"""Interactions as signed POSTs: the signature is checked on the raw bytes before anything is parsed.

https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey
from pydantic import JsonValue
from pydantic_core import from_json, to_json

from adapters.discord.blocks import Json
from adapters.discord.inbound import Callback
from adapters.discord.parse import Kind

logger = logging.getLogger(__name__)

PATH: Final = "/discord/interactions"
SIGNATURE_WINDOW: Final = 300.0
"""Seconds that a signed timestamp may be away from our clock: an old request is a replayed one."""
_SIGNATURE: Final = "X-Signature-Ed25519"
_TIMESTAMP: Final = "X-Signature-Timestamp"
_MOST_BYTES: Final = 1 << 20


class Front:
    """The endpoint.

    Args:
        public_key: the application's, in hex.
        answer: makes the callback for an interaction, and never raises.
        now: seconds since the epoch.
    """

    def __init__(
        self,
        public_key: str,
        answer: Callable[[Json], Awaitable[Json]],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._key = VerifyKey(bytes.fromhex(public_key))
        self._answer = answer
        self._now = now

    async def handle(self, request: web.Request) -> web.Response:
        """One POST: 401 unless Discord signed it just now."""
        if (request.content_length or 0) > _MOST_BYTES:
            return web.Response(status=413, text="too large")
        raw = await request.read()
        if not self._is_signed(
            request.headers.get(_SIGNATURE, ""), request.headers.get(_TIMESTAMP, ""), raw
        ):
            return web.Response(status=401, text="invalid request signature")
        body = _object(raw)
        if body is None:
            return web.Response(status=400, text="not a JSON object")
        if body.get("type") == Kind.PING:
            return _json({"type": int(Callback.PONG)})
        return _json(await self._answer(body))

    def _is_signed(self, signature: str, timestamp: str, raw: bytes) -> bool:
        try:
            self._key.verify(timestamp.encode() + raw, bytes.fromhex(signature))
            age = abs(self._now() - float(timestamp))
        except (BadSignatureError, ValueError):
            return False
        if age > SIGNATURE_WINDOW:
            logger.warning(
                "An interaction was signed %.0f s away from our clock: a replay, or the clock is wrong",
                age,
                extra={"action": "signature_stale"},
            )
        return age <= SIGNATURE_WINDOW


def _object(raw: bytes) -> Json | None:
    try:
        body: JsonValue = from_json(raw)
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _json(callback: Json) -> web.Response:
    return web.Response(body=to_json(callback), content_type="application/json")
