"""Socket Mode over two connections, so that clicks arrive while one of them is renewed. A lost connection is reopened.

Slack closes each connection from time to time and does not send a lost click again, and the SDK's client closes its
old socket before it opens the next. Each payload arrives over only one of the connections
(https://docs.slack.dev/apis/events-api/using-socket-mode).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from answerback.core.errors import RateLimitedError
from answerback.ports.outage_log import Outage
from answerback_base.backoff import Backoff
from answerback_chat.background_tasks import BackgroundTasks
from answerback_slack import errors
from answerback_slack.bolt_app import PayloadCallback

logger = logging.getLogger(__name__)

CONNECTIONS: Final = 2
_PING_SECONDS: Final = 5.0
_CONNECT_SECONDS: Final = 15.0
_DRAIN_SECONDS: Final = 3.0
"""Seconds to keep a connection that Slack is done with, for acknowledgements that still have to be sent."""
_GRACE_SECONDS: Final = 30.0
"""An outage that is shorter than this is not reported, so that no ask fails because of it."""
_SHORT_LIVED_SECONDS: Final = 10.0
"""After a connection that lasted no longer than this, there is a pause before the next attempt."""
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 30.0
_PART: Final = "socket"
TOO_MANY_CODE: Final = "too_many_websockets"
"""The reason that Slack gives when it closes a connection beyond the ten that an app may have."""
TOO_MANY_CONNECTIONS: Final = (
    "Slack allows an app ten connections, and others are using them (each replica uses two). Run"
    " fewer replicas, stop other programs that use this app token, or use HTTP instead of Socket Mode"
)
_EXPECTED_ERRORS: Final = (SlackApiError, aiohttp.ClientError, TimeoutError, OSError, ValueError)
"""The errors of a connection that Slack or the network does not allow."""


class _WebSocket(aiohttp.ClientWebSocketResponse):
    """A WebSocket that says when it has ended: the SDK goes on receiving, and looks only every few seconds."""

    ended: asyncio.Event | None = None

    async def receive(self, timeout: float | None = None) -> aiohttp.WSMessage:
        try:
            return await super().receive(timeout)
        finally:
            if self.closed and self.ended is not None:
                self.ended.set()


class _Client(SocketModeClient):
    """The SDK's client for one connection. Instead of reconnecting, it sets ``done``."""

    def __init__(self, token: str, web: AsyncWebClient, on_too_many: Callable[[], None]) -> None:
        super().__init__(app_token=token, web_client=web, ping_interval=_PING_SECONDS)
        unused = self.aiohttp_client_session
        self.aiohttp_client_session = aiohttp.ClientSession(
            connector=unused.connector, ws_response_class=_WebSocket
        )
        unused.detach()
        self.done = asyncio.Event()
        """Set once Slack is done with the connection, or it is lost."""
        self._on_too_many = on_too_many
        self.too_many = False
        """True once Slack has closed the connection because there were too many."""

    async def issue_new_wss_url(self) -> str:
        """Ask Slack where to connect to. The SDK's own method cannot read an error that is a page of HTML.

        Raises:
            SlackApiError: Slack refuses it.
            ValueError: what Slack responds is not an address.
        """
        while True:
            try:
                response = await self.web_client.apps_connections_open(app_token=self.app_token)
            except SlackApiError as error:
                refused = errors.error_from_exception("apps.connections.open", error)
                if not isinstance(refused, RateLimitedError):
                    raise
                await asyncio.sleep(refused.retry_after)
                continue
            url = response.data.get("url") if isinstance(response.data, dict) else None
            if not isinstance(url, str):
                raise ValueError("Slack has named no address to connect to")  # noqa: TRY004 it is Slack's value
            return url

    async def run_message_listeners(self, message: dict[str, Any], raw_message: str) -> None:
        """Handle a message from Slack, which may arrive after Slack has closed the connection."""
        if message.get("reason") == TOO_MANY_CODE:
            self.too_many = True
            self._on_too_many()
        await super().run_message_listeners(message, raw_message)

    async def connect(self) -> None:
        await super().connect()  # type: ignore[no-untyped-call]
        if isinstance(self.current_session, _WebSocket):
            self.current_session.ended = self.done

    async def connect_to_new_endpoint(self, force: bool = False) -> None:
        """Called when Slack wants the connection renewed, or it is stale."""
        self.done.set()

    async def close(self) -> None:
        """Close the connection for good: Slack's closing frame has started aiohttp's pings again."""
        try:
            await super().close()  # type: ignore[no-untyped-call]
        finally:
            if (session := self.current_session) is not None:
                session._cancel_heartbeat()

    def is_usable(self) -> bool:
        """Return True if messages can be sent and received over the connection."""
        session = self.current_session
        is_open = session is not None and not session.closed and not self.closed
        return is_open and not self.too_many

    def is_receiving(self) -> bool:
        """Return True if Slack still sends payloads over the connection."""
        return self.is_usable() and not self.done.is_set()


@dataclass(eq=False, repr=False)  # its token is in no log
class SocketModeConnections:
    """The connections of one app token.

    Args:
        dispatch: handles a payload and returns the answer to Slack.
        outage: logs while a connection cannot be opened.
        on_lost: called when no connection receives payloads any more, so that events may be missed.
        on_restored: called when a connection is open again.
    """

    token: str
    web: AsyncWebClient
    dispatch: PayloadCallback
    outage: Outage
    on_lost: Callable[[], None]
    on_restored: Callable[[], None]

    def __post_init__(self) -> None:
        self._disconnected = True
        self._clients: dict[_Client, None] = {}
        """In the order in which they were opened."""
        self._work = BackgroundTasks()
        self._first_attempt_done = asyncio.Event()
        self._reason = "not connected yet"
        self._last_usable_at = -_GRACE_SECONDS

    async def start(self) -> None:
        """Connect; return once one connection is open, or once a first attempt has failed and is being retried."""
        for index in range(CONNECTIONS):
            self._work.spawn(f"slack socket {index}", self._maintain())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CONNECT_SECONDS):
                await self._first_attempt_done.wait()

    async def stop(self) -> None:
        await self._work.stop(0)
        for client in list(self._clients):
            await self._close(client)

    def outage_reason(self) -> str | None:
        """The reason why people cannot be reached; None while they can, or could until a moment ago."""
        if any(client.is_usable() for client in self._clients):
            self._last_usable_at = time.monotonic()
        return None if time.monotonic() - self._last_usable_at < _GRACE_SECONDS else self._reason

    async def _maintain(self) -> None:
        """Keep one connection open; the next one is opened before the previous one is closed."""
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            try:
                client = await self._connect()
            except Exception as error:
                if not isinstance(error, _EXPECTED_ERRORS):
                    logger.exception("Socket Mode failed", extra={"action": "socket_failed"})
                self._record_failure(error)
                await backoff.wait()
                continue
            self._first_attempt_done.set()
            if self._disconnected:
                self._disconnected = False
                self.on_restored()
            lasted = await self._hold(client)
            if not self._disconnected and not any(each.is_receiving() for each in self._clients):
                self._disconnected = True
                self.on_lost()
            if not client.too_many:
                self._last_usable_at = time.monotonic()
                self._reason = "the connection was lost and is being reopened"
            self._work.spawn("slack socket retiring", self._retire(client))
            if lasted:
                backoff.reset()
            else:
                await backoff.wait()

    async def _hold(self, client: _Client) -> bool:
        """Wait until a connection is closed; return whether Slack had accepted it: it was not closed at once."""
        try:
            async with asyncio.timeout(_SHORT_LIVED_SECONDS):
                await client.done.wait()
        except TimeoutError:
            self.outage.record_success(_PART)
            await client.done.wait()
            return True
        return False

    async def _connect(self) -> _Client:
        client = _Client(self.token, self.web, self._record_too_many)
        client.socket_mode_request_listeners.append(self._handle)
        self._clients[client] = None
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                client.wss_uri = await client.issue_new_wss_url()
                await client.connect()
        except BaseException:
            await self._close(client)
            raise
        return client

    async def _retire(self, client: _Client) -> None:
        await asyncio.sleep(_DRAIN_SECONDS if client.is_usable() else 0)
        await self._close(client)

    async def _close(self, client: _Client) -> None:
        await client.close()
        self._clients.pop(client, None)  # not if this was cancelled: then `stop` closes it

    def _record_too_many(self) -> None:
        """Report an outage at once: a connection that Slack rejects as one too many was never usable."""
        self._reason, self._last_usable_at = TOO_MANY_CONNECTIONS, -_GRACE_SECONDS
        self.outage.record_failure(_PART, f"Socket Mode: {TOO_MANY_CONNECTIONS}")

    def _record_failure(self, error: Exception) -> None:
        reason = str(error) or type(error).__name__
        if isinstance(error, SlackApiError):
            reason = str(errors.error_from_exception("apps.connections.open", error))
        self._reason = reason
        self._first_attempt_done.set()
        self.outage.record_failure(_PART, f"Socket Mode is not connected: {reason}")

    async def _handle(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        """Handle one envelope. If it is not acknowledged, Slack sends an event again and shows a click as failed."""
        answer = await self.dispatch(request.payload)
        if answer.status != HTTPStatus.OK:
            return
        response = SocketModeResponse(envelope_id=request.envelope_id, payload=answer.body)
        others = [each for each in self._clients if each.is_usable() and each is not client]
        for each in (client, *others):
            try:
                await each.send_socket_mode_response(response)
            except (aiohttp.ClientError, ConnectionError):
                continue
            return
        logger.warning("An acknowledgement could not be sent", extra={"action": "not_acknowledged"})
