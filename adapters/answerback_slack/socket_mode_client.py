"""Socket Mode: two connections, so that clicks arrive while one of them is renewed; each is made anew when it is lost.

Slack closes a connection now and then and does not repeat a click that nobody took, and the SDK's client
closes its old socket before it opens the next. Each payload comes over one of the connections
(https://docs.slack.dev/apis/events-api/using-socket-mode).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from http import HTTPStatus
from typing import Any, Final

import aiohttp
from pydantic_core import from_json
from slack_bolt import BoltResponse
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from answerback_client.backoff import Backoff
from answerback_slack import errors

logger = logging.getLogger(__name__)

CONNECTIONS: Final = 2
_PING_SECONDS: Final = 5.0
_CONNECT_SECONDS: Final = 15.0
_LOOK_SECONDS: Final = 0.5
"""How often a connection is looked at that may have been lost without a word."""
_DRAIN_SECONDS: Final = 3.0
"""How long a connection that Slack is done with is kept, for acknowledgements that are still to be sent."""
_GRACE_SECONDS: Final = 30.0
"""A connection that is made again within this time was never away: no ask fails for want of it."""
_SHORT_SECONDS: Final = 10.0
"""A connection that lives no longer than this is not made again without a pause."""
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 30.0
TOO_MANY_CODE: Final = "too_many_websockets"
"""Why Slack ends a connection that is one more than the ten that an app may have."""
TOO_MANY_CONNECTIONS: Final = (
    "Slack takes no more than ten connections of an app, and others hold them (each replica takes two). Run"
    " fewer replicas, stop other programs that have this app token, or have Slack call over HTTP"
)
_FORESEEN: Final = (SlackApiError, aiohttp.ClientError, TimeoutError, OSError, ValueError)
"""How a connection fails that Slack, or the way there, does not give."""

PayloadCallback = Callable[[dict[str, Any]], Awaitable[BoltResponse]]


class _Client(SocketModeClient):
    """The SDK's client for one connection: where it would reconnect by itself, it says that it is done."""

    def __init__(self, token: str, web: AsyncWebClient, refused: Callable[[], None]) -> None:
        super().__init__(app_token=token, web_client=web, ping_interval=_PING_SECONDS)
        self.done = asyncio.Event()
        self._refused = refused
        self.crowded = False
        """Whether Slack ended it because there are too many."""

    async def run_message_listeners(self, message: dict[str, Any], raw_message: str) -> None:
        """Slack says something, perhaps after it has closed the connection."""
        if message.get("reason") == TOO_MANY_CODE:
            self.crowded = True
            self._refused()
        await super().run_message_listeners(message, raw_message)

    async def connect_to_new_endpoint(self, force: bool = False) -> None:
        """Slack wants the connection renewed, or it is stale."""
        self.done.set()

    def is_usable(self) -> bool:
        """Whether something can come and go over it."""
        session = self.current_session
        return session is not None and not session.closed and not self.closed

    def is_receiving(self) -> bool:
        """Whether Slack sends over it."""
        return self.is_usable() and not self.done.is_set()

    async def wait_until_closed(self) -> None:
        """Returns once Slack is done with the connection, or it is lost."""
        while self.is_usable() and not self.done.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self.done.wait()


class SocketModeConnections:
    """The connections of one app token.

    Args:
        lost: called when none of them stands any more, and events may pass by.
        back: called when one stands again.
    """

    def __init__(
        self,
        token: str,
        web: AsyncWebClient,
        heard: PayloadCallback,
        *,
        lost: Callable[[], None],
        back: Callable[[], None],
    ) -> None:
        self._token = token
        self._web = web
        self._heard = heard
        self._lost = lost
        self._back = back
        self._deaf = True
        self._clients: set[_Client] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._settled = asyncio.Event()
        self._trouble = "not connected yet"
        self._stood = -_GRACE_SECONDS

    async def start(self) -> None:
        """Connects; returns once one connection stands, or once a first attempt failed that is being repeated."""
        for place in range(CONNECTIONS):
            self._begin(self._keep(), f"slack socket {place}")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CONNECT_SECONDS):
                await self._settled.wait()

    async def stop(self) -> None:
        """Disconnects."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for client in list(self._clients):
            await self._close(client)

    def outage_reason(self) -> str | None:
        """None while people can be reached, or were a moment ago; else what is wrong."""
        if any(client.is_usable() for client in self._clients):
            self._stood = time.monotonic()
        return None if time.monotonic() - self._stood < _GRACE_SECONDS else self._trouble

    def _begin(self, work: Coroutine[object, object, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep(self) -> None:
        """Holds one connection; the next is made before the last is closed."""
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            try:
                client = await self._connected()
            except Exception as error:
                if not isinstance(error, _FORESEEN):
                    logger.exception("Socket Mode failed", extra={"action": "socket_failed"})
                self._failed(error)
                await backoff.wait()
                continue
            self._settled.set()
            since = time.monotonic()
            if self._deaf:
                self._deaf = False
                self._back()
            await client.wait_until_closed()
            if not self._deaf and not any(each.is_receiving() for each in self._clients):
                self._deaf = True
                self._lost()
            if not client.crowded:
                self._stood = time.monotonic()
                self._trouble = "the connection is lost and being made again"
            self._begin(self._retire(client), "slack socket retiring")
            if time.monotonic() - since > _SHORT_SECONDS:
                backoff.reset()
            else:
                await backoff.wait()

    async def _connected(self) -> _Client:
        client = _Client(self._token, self._web, self._crowded)
        client.socket_mode_request_listeners.append(self._handle)
        self._clients.add(client)
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                client.wss_uri = await client.issue_new_wss_url()
                await client.connect()  # type: ignore[no-untyped-call]
        except BaseException:
            await self._close(client)
            raise
        return client

    async def _retire(self, client: _Client) -> None:
        await asyncio.sleep(_DRAIN_SECONDS if client.is_usable() else 0)
        await self._close(client)

    async def _close(self, client: _Client) -> None:
        self._clients.discard(client)
        await client.close()  # type: ignore[no-untyped-call]

    def _crowded(self) -> None:
        """Slack wants fewer connections: this one never was one."""
        self._trouble, self._stood = TOO_MANY_CONNECTIONS, -_GRACE_SECONDS
        logger.warning("Socket Mode: %s", TOO_MANY_CONNECTIONS, extra={"action": "socket_crowded"})

    def _failed(self, error: Exception) -> None:
        words = str(error) or type(error).__name__
        if isinstance(error, SlackApiError):
            words = str(errors.error_from_exception("apps.connections.open", error))
        self._trouble = words
        self._settled.set()
        logger.warning("Socket Mode is not connected: %s", words, extra={"action": "socket_failed"})

    async def _handle(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        """Handles one envelope; without an acknowledgement Slack sends an event again and shows a click as failed."""
        answer = await self._heard(request.payload)
        if answer.status != HTTPStatus.OK:
            return
        payload = from_json(answer.body) if answer.body else None
        response = SocketModeResponse(envelope_id=request.envelope_id, payload=payload)
        standing = [each for each in self._clients if each.is_usable() and each is not client]
        for each in (client, *standing):
            try:
                await each.send_socket_mode_response(response)
            except (aiohttp.ClientError, ConnectionError):
                continue
            return
        logger.warning("An acknowledgement could not be sent", extra={"action": "not_acknowledged"})
