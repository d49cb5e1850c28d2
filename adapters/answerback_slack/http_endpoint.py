"""The public end of Slack's HTTP mode: what is not provably Slack's is refused before anything of it is parsed.

Owns the signature over the raw bytes (https://docs.slack.dev/authentication/verifying-requests-from-slack), the
refusal of replayed requests, and the decoding of a body. Measured, decoding a click with the standard library's parser
costs half of what a whole click does; yarl's, in C, is some seventeen times faster. Of a click only what is read of it
becomes objects.
"""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from aiohttp import web
from pydantic_core import from_json
from slack_bolt import BoltResponse
from yarl import URL

from answerback.http.unverified_connections import mark_request_verified
from answerback_chat.platform_bodies import BodyReader
from answerback_slack import limits
from answerback_slack.bolt_app import ClickCallback
from answerback_slack.parse import ClickPayload

logger = logging.getLogger(__name__)

PayloadCallback = Callable[[dict[str, Any]], Awaitable[BoltResponse]]
"""Takes a payload; gives what it is answered with once it is committed."""

MAX_BODY_BYTES: Final = 2 * 1024 * 1024
_REMEMBERED: Final = 200_000
"""Signatures kept against replay; within five minutes, more would be beyond what Slack sends an app."""
_CLICK: Final = msgspec.json.Decoder(ClickPayload)
_DIGITS: Final = 12
_PIECE: Final = 2_047


class HttpEndpoint:
    """Receives Slack's requests."""

    on_click: ClickCallback | None = None
    """Takes a click past bolt's router, once people can act: finding the one listener costs as much as the commit."""

    def __init__(
        self, secret: str, heard: PayloadCallback, now: Callable[[], float] = time.time
    ) -> None:
        self._mac = hmac.new(secret.encode(), digestmod="sha256")
        self._heard = heard
        self._now = now
        self._seen: dict[str, float] = {}
        self._bodies = BodyReader(MAX_BODY_BYTES)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """POST /slack/events: events and interactivity alike."""
        body = await self._bodies.read(request)
        if isinstance(body, web.Response):
            return body
        signature = request.headers.get("X-Slack-Signature", "")
        refusal = self.rejection_reason(
            body, request.headers.get("X-Slack-Request-Timestamp", ""), signature
        )
        if refusal is not None:
            logger.warning("A request was refused: %s", refusal, extra={"action": "refused"})
            return web.Response(status=401, text=refusal)
        mark_request_verified(request)
        self._seen[signature] = self._now()
        response = await self._answer(request.content_type, body)
        if response.status >= 500:
            self._seen.pop(signature, None)  # the same request may come again, and is welcome
        return response

    def rejection_reason(self, body: bytes, timestamp: str, signature: str) -> str | None:
        """Why a request is not taken; None when it is Slack's, new, and of now."""
        if not timestamp.isascii() or not timestamp.isdigit() or len(timestamp) > _DIGITS:
            return "X-Slack-Request-Timestamp is missing or no number"
        if abs(self._now() - int(timestamp)) > limits.SIGNATURE_SECONDS:
            return "the request is too old, or the clock of this machine is wrong"
        expected = self._signature(timestamp, body).encode()
        if not hmac.compare_digest(expected, signature.encode("utf-8", "replace")):
            return "the signature is wrong: check slack.signing_secret"
        self._forget()
        return "the request was received before" if signature in self._seen else None

    def _signature(self, timestamp: str, body: bytes) -> str:
        """In small pieces: hashing 2,048 bytes or more hands the interpreter's lock to the thread that writes the
        database. A click then takes 9 % more of the processor (`tests.benchmarks.clever`, ``hash_at_once``)."""
        mac = self._mac.copy()
        mac.update(b"v0:" + timestamp.encode() + b":")
        for start in range(0, len(body), _PIECE):
            mac.update(body[start : start + _PIECE])
        return "v0=" + mac.hexdigest()

    def _forget(self) -> None:
        """Drops signatures that are too old to be replayed; they stand in the order in which they came."""
        first = next(iter(self._seen.items()), None)
        if first is None:
            return
        signature, at = first
        if at < self._now() - 2 * limits.SIGNATURE_SECONDS or len(self._seen) >= _REMEMBERED:
            del self._seen[signature]

    async def _answer(self, content_type: str, body: bytes) -> web.Response:
        text = json_text_from_body(content_type, body)
        if self.on_click is not None and (click := parse_click(text)) is not None:
            return web.Response(status=(await self.on_click(click)).status)
        payload = parse_payload(text)
        if payload is None:
            return web.Response(status=400, text="the body is no payload of Slack's")
        if payload.get("type") == "url_verification":
            return web.json_response({"challenge": str(payload.get("challenge", ""))})
        answer = await self._heard(payload)
        if not answer.body:
            return web.Response(status=answer.status)
        headers = answer.first_headers()
        return web.Response(status=answer.status, body=answer.body.encode(), headers=headers)


def json_text_from_body(content_type: str, body: bytes) -> str:
    """The JSON text in a verified body, which an interaction has in a form; "" where there is none."""
    try:
        text = body.decode()
        if content_type == "application/json":
            return text
        return URL.build(path="/", query_string=text, encoded=True).query.get("payload", "")
    except ValueError:
        return ""


def parse_click(text: str) -> ClickPayload | None:
    """What is read of a click; None where the text is not one.

    Most of it is a copy of the message, which is skipped: made into objects, it takes a seventh of a click's processor
    time (`tests.benchmarks.clever`, ``whole_payloads``).
    """
    try:
        payload = _CLICK.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return payload if payload.get("type") == "block_actions" else None


def parse_payload(text: str) -> dict[str, Any] | None:
    """The payload that a text holds, or None where there is none."""
    try:
        payload = from_json(text)
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None
