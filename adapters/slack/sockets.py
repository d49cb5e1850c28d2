"""Socket Mode: two connections, so that clicks arrive while one of them is renewed; each is made anew when it is lost.

Slack closes a connection now and then and does not repeat a click that nobody took, and the SDK's client
closes its old socket before it opens the next. Each payload comes over one of the connections
(https://docs.slack.dev/apis/events-api/using-socket-mode).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack import errors
from bot.errors import StoreError

logger = logging.getLogger(__name__)

CONNECTIONS: Final = 2
_PING_SECONDS: Final = 5.0
_CONNECT_SECONDS: Final = 15.0
_LOST_SECONDS: Final = 20.0
"""How long the SDK may take to mend a connection by itself before another client takes its place."""
_LONGEST_PAUSE: Final = 30.0

Receive = Callable[[str, object], Awaitable[object]]


class Sockets:
    """The connections of one app token."""

    def __init__(self, token: str, web: AsyncWebClient, receive: Receive) -> None:
        self._token = token
        self._web = web
        self._receive = receive
        self._clients: list[SocketModeClient | None] = [None] * CONNECTIONS
        self._tasks: list[asyncio.Task[None]] = []
        self._settled = asyncio.Event()
        self._trouble: str | None = "not connected yet"

    async def start(self) -> None:
        """Connects; returns once one connection stands, or once a first attempt failed that is being repeated."""
        self._tasks = [
            asyncio.create_task(self._keep(place), name=f"slack socket {place}")
            for place in range(CONNECTIONS)
        ]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CONNECT_SECONDS):
                await self._settled.wait()

    async def stop(self) -> None:
        """Disconnects."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def trouble(self) -> str | None:
        """None while at least one connection stands, else what is wrong."""
        if any(client is not None and _stands(client) for client in self._clients):
            return None
        return self._trouble or "the connection is lost and being made again"

    async def _keep(self, place: int) -> None:
        pause = 0.5
        while True:
            # The SDK's client starts tasks when it is made, and ends them when it is closed.
            client = SocketModeClient(
                app_token=self._token, web_client=self._web, ping_interval=_PING_SECONDS
            )
            client.socket_mode_request_listeners.append(self._handle)
            try:
                async with asyncio.timeout(_CONNECT_SECONDS):
                    client.wss_uri = await client.issue_new_wss_url()
                    await client.connect()  # type: ignore[no-untyped-call]
                self._clients[place], self._trouble, pause = client, None, 0.5
                self._settled.set()
                await self._watch(client)
            except (SlackApiError, aiohttp.ClientError, OSError, ValueError) as error:
                self._failed(error)
            finally:
                self._clients[place] = None
                await client.close()  # type: ignore[no-untyped-call]
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _watch(self, client: SocketModeClient) -> None:
        """Returns when a connection has been down for longer than the SDK needs to mend it."""
        lost = 0.0
        while lost < _LOST_SECONDS:
            await asyncio.sleep(1.0)
            lost = 0.0 if _stands(client) else lost + 1.0
        logger.warning("A Socket Mode connection is made anew", extra={"action": "socket_lost"})

    def _failed(self, error: Exception) -> None:
        words = str(error) or type(error).__name__
        if isinstance(error, SlackApiError):
            words = str(errors.of_exception("apps.connections.open", error))
        self._trouble = words
        self._settled.set()
        logger.warning("Socket Mode is not connected: %s", words, extra={"action": "socket_failed"})

    async def _handle(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        """Handles one envelope; one that is not acknowledged is sent again (an event) or shown as failed (a click)."""
        try:
            said = await self._receive(request.type, request.payload)
        except StoreError as error:
            logger.warning(
                "A payload could not be stored: %s", error, extra={"action": "not_stored"}
            )
            return
        except Exception:
            logger.exception("A payload could not be handled", extra={"action": "not_handled"})
            return
        payload = said if isinstance(said, dict) else None
        response = SocketModeResponse(envelope_id=request.envelope_id, payload=payload)
        await client.send_socket_mode_response(response)


def _stands(client: SocketModeClient) -> bool:
    session = client.current_session
    return session is not None and not session.closed and not client.closed
