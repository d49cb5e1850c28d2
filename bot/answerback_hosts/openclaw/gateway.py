"""The client of an OpenClaw gateway: requests and events over one WebSocket.

Shapes: protocol 4 of OpenClaw 2026.9.6.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from pydantic import JsonValue

from answerback_agents.bridges.ask_people import id_text
from answerback_agents.bridges.event_server import (
    EventServer,
    ForeignServerError,
    Json,
    ServerUnavailableError,
)
from answerback_agents.pipe.json_rpc import as_object, objects
from answerback_base.addresses import is_loopback
from answerback_base.connection_errors import is_temporary, reason_of
from answerback_base.strict_json import load_with_numbers
from answerback_base.version import VERSION
from answerback_hosts.openclaw.device import CLIENT, MODE, SCOPES, Device

_PROTOCOL: Final = 4
_CAPABILITIES: Final[list[JsonValue]] = ["approvals", "exec-approvals", "plugin-approvals"]
_PLATFORM: Final = "linux"
_MAX_FRAME: Final = 25 * 2**20
"""Bytes of a frame: as many as a gateway accepts itself."""
_TIMEOUT: Final = 30.0
_HEARTBEAT: Final = 25.0
_MAX_SESSIONS: Final = 50
"""The number of sessions that are checked for late answers."""


@dataclass(eq=False)
class OpenclawGateway(EventServer):
    http: aiohttp.ClientSession
    """The session to use, which the caller closes."""
    url: str
    token: str = field(repr=False)
    """The gateway's token or password; empty if it needs none."""
    device: Device
    started_at: float = 0.0
    """When the gateway started: it has forgotten the questions of before."""
    _socket: aiohttp.ClientWebSocketResponse | None = None
    _waiting: dict[str, asyncio.Future[Json]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ids = itertools.count(1)
        _check_address(self.url)

    @asynccontextmanager
    async def open_event_stream(self) -> AsyncIterator[AsyncIterator[Json]]:
        try:
            async with self.http.ws_connect(
                self.url, max_msg_size=_MAX_FRAME, heartbeat=_HEARTBEAT
            ) as socket:
                await self._shake_hands(socket)
                events: asyncio.Queue[Json | None] = asyncio.Queue()
                self._socket = socket
                reader = asyncio.create_task(self._read(socket, events))
                try:
                    yield self._events(events)
                finally:
                    self._socket = None
                    reader.cancel()
                    self._fail_waiting()
        except aiohttp.WSServerHandshakeError as error:
            if is_temporary(error.status):
                raise ServerUnavailableError(f"{self.url} answered HTTP {error.status}.") from error
            raise ForeignServerError(
                f"The server at {self.url} is not an OpenClaw gateway (HTTP {error.status})."
            ) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ServerUnavailableError(
                f"Cannot reach OpenClaw at {self.url}: {reason_of(error)}."
            ) from error

    async def call(self, method: str, **params: JsonValue) -> Json | None:
        """Call a method, and return its payload (a list is under `items`); None if the gateway refuses.

        Raises:
            ServerUnavailableError: the connection is lost, or the gateway cannot answer now.
        """
        if (socket := self._socket) is None:
            raise ServerUnavailableError(f"There is no connection to {self.url}.")
        number = str(next(self._ids))
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(_TIMEOUT):
                await socket.send_json(_request(number, method, params))
                response = await future
        except (ConnectionError, TimeoutError, aiohttp.ClientError) as error:
            raise ServerUnavailableError(f"{self.url} did not answer {method}.") from error
        finally:
            del self._waiting[number]
        payload = response.get("payload")
        if response.get("ok") is True:
            return payload if isinstance(payload, dict) else {"items": payload}
        if as_object(response.get("error")).get("retryable") is True:
            raise ServerUnavailableError(f"{self.url} cannot answer {method} now.")
        return None

    async def sessions(self) -> list[str]:
        found = await self.call("sessions.list", limit=_MAX_SESSIONS) or {}
        keys = [id_text(row.get("key")) for row in objects(found.get("sessions"))]
        return [key for key in keys if key is not None]

    async def _shake_hands(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async with asyncio.timeout(_TIMEOUT):
            challenge = await self._next_frame(socket)
            if challenge.get("event") != "connect.challenge":
                raise self._foreign()
            proof = self.device.proof(as_object(challenge.get("payload")), self.token)
            await socket.send_json(_request("connect", "connect", self._introduction(proof)))
            response = await self._next_frame(socket)
        if response.get("ok") is not True:
            raise self._refusal(as_object(response.get("error")))
        snapshot = as_object(as_object(response.get("payload")).get("snapshot"))
        uptime = snapshot.get("uptimeMs")
        self.started_at = time.time() - (uptime / 1000 if isinstance(uptime, int | float) else 0)

    def _introduction(self, proof: Json) -> Json:
        client: Json = {
            "id": CLIENT,
            "displayName": "Answerback",
            "version": VERSION,
            "platform": _PLATFORM,
            "mode": MODE,
        }
        return {
            "minProtocol": _PROTOCOL,
            "maxProtocol": _PROTOCOL,
            "client": client,
            "role": "operator",
            "scopes": [*SCOPES],
            "caps": _CAPABILITIES,
            "auth": {"token": self.token} if self.token else {},
            "device": proof,
        }

    def _refusal(self, error: Json) -> Exception:
        details = as_object(error.get("details"))
        if details.get("code") == "PAIRING_REQUIRED":
            return ServerUnavailableError(
                f"OpenClaw at {self.url} has to pair this client first. On its machine, run "
                f"`openclaw devices approve {details.get('requestId')}`."
            )
        if error.get("retryable") is True:
            return ServerUnavailableError(f"OpenClaw at {self.url}: {error.get('message')}.")
        return ForeignServerError(f"OpenClaw at {self.url} refuses: {error.get('message')}.")

    async def _next_frame(self, socket: aiohttp.ClientWebSocketResponse) -> Json:
        message = await socket.receive()
        if message.type is not aiohttp.WSMsgType.TEXT:
            raise ServerUnavailableError(f"{self.url} closed the connection.")
        try:
            frame = load_with_numbers(message.data)
        except (ValueError, RecursionError):
            frame = None
        if not isinstance(frame, dict):
            raise self._foreign()
        return frame

    def _foreign(self) -> ForeignServerError:
        return ForeignServerError(f"The server at {self.url} is not an OpenClaw gateway.")

    async def _read(
        self, socket: aiohttp.ClientWebSocketResponse, events: asyncio.Queue[Json | None]
    ) -> None:
        try:
            while True:
                frame = await self._next_frame(socket)
                waiting = self._waiting.get(str(frame.get("id")))
                if frame.get("type") == "event":
                    events.put_nowait(frame)
                elif waiting is not None and not waiting.done():
                    waiting.set_result(frame)
        except (ServerUnavailableError, ForeignServerError):
            self._fail_waiting()
            events.put_nowait(None)

    async def _events(self, events: asyncio.Queue[Json | None]) -> AsyncIterator[Json]:
        while (event := await events.get()) is not None:
            yield event
        raise ServerUnavailableError(f"The connection to OpenClaw at {self.url} was lost.")

    def _fail_waiting(self) -> None:
        for future in self._waiting.values():
            with suppress(asyncio.InvalidStateError):  # it has just been answered
                future.set_exception(ConnectionResetError())


def _request(number: str, method: str, params: Json) -> Json:
    return {"type": "req", "id": number, "method": method, "params": params}


def _check_address(url: str) -> None:
    """Refuse an address where what is sent could be read on the way, or which contains a secret."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.username or parts.password or parts.query:
        raise ForeignServerError(
            "Put the gateway's token into the environment, not into its address."
        )
    if not (parts.scheme == "wss" and host) and not (parts.scheme == "ws" and is_loopback(host)):
        raise ForeignServerError(
            f"{url} is not the address of a gateway. Use ws://127.0.0.1:18789, or wss:// for another machine."
        )
