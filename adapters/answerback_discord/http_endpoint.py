"""Interactions as signed POSTs: the signature is checked on the raw bytes before anything is parsed.

https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from nacl.bindings import crypto_sign_BYTES, crypto_sign_open
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey
from pydantic_core import to_json

from answerback.http.unverified_connections import mark_request_verified
from answerback_chat.platform_bodies import BodyReader
from answerback_discord.components import Json
from answerback_discord.interaction_responses import InteractionResponse, InteractionResponseType
from answerback_discord.parse import InteractionType, parse_body

logger = logging.getLogger(__name__)

PATH: Final = "/discord/interactions"
MAX_BODY: Final = 512 * 1024
"""Bytes of an interaction: a message of 4,000 characters with its menus, and five inputs of 4,000, escaped."""
SIGNATURE_WINDOW: Final = 300.0
"""Seconds that a signed timestamp may be away from our clock: an old request is a replayed one."""
_SIGNATURE: Final = "X-Signature-Ed25519"
_TIMESTAMP: Final = "X-Signature-Timestamp"


class HttpEndpoint:
    """The endpoint.

    Args:
        public_key: the application's, in hex.
        receive: makes the reply to an interaction, and never raises. It may be exchanged.
        replied: does what a reply needs beside being sent, and gives the callback.
        now: seconds since the epoch.
    """

    def __init__(
        self,
        public_key: str,
        receive: Callable[[Json], Awaitable[InteractionResponse]],
        replied: Callable[[Json, InteractionResponse], Json],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._key = bytes(VerifyKey(bytes.fromhex(public_key)))
        self.receive = receive
        self._replied = replied
        self._now = now
        self._bodies = BodyReader(MAX_BODY)

    async def handle(self, request: web.Request) -> web.Response:
        """One POST: 401 unless Discord signed it just now."""
        raw = await self._bodies.read(request)
        if isinstance(raw, web.Response):
            return raw
        headers = request.headers
        if not self._is_signed(headers.get(_SIGNATURE, ""), headers.get(_TIMESTAMP, ""), raw):
            return web.Response(status=401, text="invalid request signature")
        mark_request_verified(request)
        body = parse_body(raw)
        if body is None:
            return web.Response(status=400, text="not a JSON object")
        if body.get("type") == InteractionType.PING:
            return _json({"type": int(InteractionResponseType.PONG)})
        return _json(self._replied(body, await self.receive(body)))

    def _is_signed(self, signature: str, timestamp: str, raw: bytes) -> bool:
        try:
            given = bytes.fromhex(signature)
            if len(given) != crypto_sign_BYTES:
                return False
            crypto_sign_open(given + timestamp.encode() + raw, self._key)
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


def _json(callback: Json) -> web.Response:
    return web.Response(body=to_json(callback), content_type="application/json")
