"""The public endpoint for HTTP mode: rejects every request that is not verifiably Slack's before parsing any of it.

Owns signature verification over the raw bytes
(https://docs.slack.dev/authentication/verifying-requests-from-slack), the rejection of replayed requests, and the
decoding of bodies. Decoding a click's form with the standard library's parser was measured to take half of the click's
total time; yarl's, in C, is about seventeen times faster. Only the fields of a click that are used become objects.
"""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from aiohttp import web
from pydantic_core import from_json, to_json
from typing_extensions import TypedDict
from yarl import URL

from answerback.http.request_body import BodyReader
from answerback.http.unverified_connections import mark_request_verified
from answerback_slack import limits
from answerback_slack.bolt_app import PayloadCallback

logger = logging.getLogger(__name__)

MAX_BODY_BYTES: Final = 2 * 1024 * 1024
_MAX_SIGNATURES: Final = 200_000
"""The most signatures kept to detect replays: more than Slack sends an app within five minutes."""
_MAX_TIMESTAMP_DIGITS: Final = 12
_HASH_CHUNK_BYTES: Final = 2_047


class ClickPayload(TypedDict, total=False):
    """The fields of a ``block_actions`` payload that are used."""

    type: object
    user: object
    container: object
    channel: object
    trigger_id: object
    response_url: object
    view: object
    state: object
    actions: object


_CLICK_DECODER: Final = msgspec.json.Decoder(ClickPayload)


class HttpEndpoint:
    """The HTTP handler that receives Slack's requests.

    Args:
        on_click: handles a click, with one module less on its way than `dispatch`.
        dispatch: handles every other payload.
    """

    def __init__(
        self,
        secret: str,
        on_click: PayloadCallback,
        dispatch: PayloadCallback,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._mac = hmac.new(secret.encode(), digestmod="sha256")
        self._on_click = on_click
        self._dispatch = dispatch
        self._now = now
        self._seen: dict[str, float] = {}
        self._bodies = BodyReader(MAX_BODY_BYTES)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Handle ``POST /slack/events``, for both events and interactivity."""
        body = await self._bodies.read(request)
        if isinstance(body, web.Response):
            return body
        signature = request.headers.get("X-Slack-Signature", "")
        reason = self.rejection_reason(
            body, request.headers.get("X-Slack-Request-Timestamp", ""), signature
        )
        if reason is not None:
            logger.warning("A request was rejected: %s", reason, extra={"action": "refused"})
            return web.Response(status=401, text=reason)
        mark_request_verified(request)
        self._seen[signature] = self._now()
        response = await self._answer(request.content_type, body)
        if response.status >= 500:
            self._seen.pop(signature, None)  # Slack may send the same request again
        return response

    def rejection_reason(self, body: bytes, timestamp: str, signature: str) -> str | None:
        """Return why a request is rejected; None if it is Slack's, recent, and was not received before."""
        if (
            not timestamp.isascii()
            or not timestamp.isdigit()
            or len(timestamp) > _MAX_TIMESTAMP_DIGITS
        ):
            return "X-Slack-Request-Timestamp is missing or is not a number"
        if abs(self._now() - int(timestamp)) > limits.SIGNATURE_SECONDS:
            return "the request is too old, or the clock of this machine is wrong"
        expected = self._signature(timestamp, body).encode()
        if not hmac.compare_digest(expected, signature.encode("utf-8", "replace")):
            return "the signature is wrong: check slack.signing_secret"
        self._forget_oldest()
        return "the request was received before" if signature in self._seen else None

    def _signature(self, timestamp: str, body: bytes) -> str:
        """Compute the expected signature, hashing in small chunks.

        Hashing 2,048 bytes or more at once releases the interpreter's lock to the thread that writes the database,
        and a click then takes 9 % more processor time (`tests.benchmarks.optimisations`, ``hash_at_once``).
        """
        mac = self._mac.copy()
        mac.update(b"v0:" + timestamp.encode() + b":")
        for start in range(0, len(body), _HASH_CHUNK_BYTES):
            mac.update(body[start : start + _HASH_CHUNK_BYTES])
        return "v0=" + mac.hexdigest()

    def _forget_oldest(self) -> None:
        """Drop the oldest signature if it is too old to be replayed. Signatures are in order of arrival."""
        first = next(iter(self._seen.items()), None)
        if first is None:
            return
        signature, at = first
        if at < self._now() - 2 * limits.SIGNATURE_SECONDS or len(self._seen) >= _MAX_SIGNATURES:
            del self._seen[signature]

    async def _answer(self, content_type: str, body: bytes) -> web.Response:
        text = json_text_from_body(content_type, body)
        if (click := parse_click(text)) is not None:
            return _response(*await self._on_click(click))
        payload = parse_payload(text) if text else command_form(content_type, body)
        if payload is None:
            return web.Response(status=400, text="the body is not a Slack payload")
        if payload.get("type") == "url_verification":
            return web.json_response({"challenge": str(payload.get("challenge", ""))})
        return _response(*await self._dispatch(payload))


def _response(status: int, answer: Mapping[str, Any] | None) -> web.Response:
    if answer is None:
        return web.Response(status=status)
    return web.Response(status=status, body=to_json(answer), content_type="application/json")


def json_text_from_body(content_type: str, body: bytes) -> str:
    """The JSON text in a verified body, which for an interaction is a form field; "" if there is none."""
    try:
        text = body.decode()
        if content_type == "application/json":
            return text
        return URL.build(path="/", query_string=text, encoded=True).query.get("payload", "")
    except ValueError:
        return ""


def command_form(content_type: str, body: bytes) -> Mapping[str, Any] | None:
    """The fields of a slash command, which Slack sends as a form of their own; None if the body is not one."""
    if content_type == "application/json":
        return None
    fields = dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))
    return fields if "command" in fields else None


def parse_click(text: str) -> ClickPayload | None:
    """Parse a click's fields that are used; None if the text is not a click.

    Most of the payload is a copy of the message, which is skipped: turning it into objects would take a seventh of a
    click's processor time (`tests.benchmarks.optimisations`, ``whole_payloads``).
    """
    try:
        payload = _CLICK_DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return payload if payload.get("type") == "block_actions" else None


def parse_payload(text: str) -> Mapping[str, Any] | None:
    """Parse a text as a payload; None if it is not a JSON object."""
    try:
        payload = from_json(text)
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None
