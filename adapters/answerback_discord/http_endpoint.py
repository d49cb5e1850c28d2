"""Receive interactions as signed POSTs; the signature of the raw bytes is checked before anything is parsed.

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
from pydantic_core import to_json

from answerback.http.request_body import BodyReader
from answerback.http.unverified_connections import mark_request_verified
from answerback_discord.components import Json
from answerback_discord.interaction_responses import InteractionResponse, InteractionResponseType
from answerback_discord.parse import InteractionType, parse_body

logger = logging.getLogger(__name__)

PATH: Final = "/discord/interactions"
MAX_BODY: Final = 512 * 1024
"""Maximum bytes of an interaction: a message of 4,000 characters with its menus, and five inputs of 4,000, escaped."""
SIGNATURE_WINDOW: Final = 300.0
"""Seconds by which a signed timestamp may differ from our clock; an older request is treated as a replay."""
_SIGNATURE: Final = "X-Signature-Ed25519"
_TIMESTAMP: Final = "X-Signature-Timestamp"


class HttpEndpoint:
    """The HTTP endpoint for Discord's interactions.

    Args:
        public_key: the application's public key, in hex.
        receive: returns the response to an interaction, and never raises.
        finish: does whatever a response requires besides being sent, and returns its callback; None if it sends it.
        acknowledge: returns the response to a modal that is handled later; None: it is handled by ``receive``.
        now: seconds since the epoch.
    """

    def __init__(
        self,
        public_key: str,
        receive: Callable[[Json], Awaitable[InteractionResponse]],
        finish: Callable[[Json, InteractionResponse], Json | None],
        acknowledge: Callable[[Json], Awaitable[InteractionResponse | None]],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._key = VerifyKey(bytes.fromhex(public_key))
        self._receive = receive
        self._finish = finish
        self._acknowledge = acknowledge
        self._now = now
        self._bodies = BodyReader(MAX_BODY)

    async def handle(self, request: web.Request) -> web.Response:
        """Handle one POST; respond with 401 unless Discord signed it just now."""
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
        reply = None
        if body.get("type") == InteractionType.MODAL_SUBMIT:
            reply = await self._acknowledge(body)
        callback = self._finish(body, reply or await self._receive(body))
        return web.Response(status=202) if callback is None else _json(callback)

    def _is_signed(self, signature: str, timestamp: str, raw: bytes) -> bool:
        try:
            self._key.verify(timestamp.encode() + raw, bytes.fromhex(signature))
            age = abs(self._now() - float(timestamp))
        except (BadSignatureError, ValueError):
            return False
        if age > SIGNATURE_WINDOW:
            logger.warning(
                "The timestamp of a signed interaction is %.0f s off our clock: it is a replay, or the clock is wrong",
                age,
                extra={"action": "signature_stale"},
            )
        return age <= SIGNATURE_WINDOW


def _json(callback: Json) -> web.Response:
    return web.Response(body=to_json(callback), content_type="application/json")
