"""The client of an OpenClaw gateway: requests and events over one WebSocket.

Shapes: protocol 4 of OpenClaw 2026.9.6. A gateway knows this client by a key of its own, which is paired at once on the
same machine, and once a person has approved it elsewhere.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import ipaddress
import itertools
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import JsonValue, TypeAdapter, ValidationError

from answerback.agents.bridges.frame import ForeignServerError, Json, ServerUnavailableError
from answerback.version import VERSION
from answerback_client.connection_errors import reason_of

_PROTOCOL: Final = 4
_CLIENT: Final = "gateway-client"
_MODE: Final = "backend"
_PLATFORM: Final = "linux"
_SCOPES: Final = ("operator.admin", "operator.write", "operator.approvals", "operator.questions")
"""Without the first, a gateway shows approvals only to the client whose message led to them."""
_CAPABILITIES: Final[list[JsonValue]] = ["approvals", "exec-approvals", "plugin-approvals"]
_MAX_FRAME: Final = 25 * 2**20
"""Bytes of a frame: as many as a gateway accepts itself."""
_TIMEOUT: Final = 30.0
_HEARTBEAT: Final = 25.0
_OBJECT: Final = TypeAdapter(Json)


@dataclass(frozen=True, slots=True)
class Device:
    """The key that a gateway knows this client by."""

    key: Ed25519PrivateKey

    @classmethod
    def load(cls, path: Path) -> Device:
        """Load the key from a file that only its owner can read, or create it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            created = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(created, "wb") as file:
                file.write(os.urandom(32))
        return cls(Ed25519PrivateKey.from_private_bytes(path.read_bytes()))

    def proof(self, challenge: Json, token: str) -> Json:
        """Sign the gateway's challenge."""
        public = self.key.public_key().public_bytes_raw()
        device = hashlib.sha256(public).hexdigest()
        nonce, signed_at = challenge.get("nonce"), challenge.get("ts")
        scopes = ",".join(_SCOPES)
        parts = ("v2", device, _CLIENT, _MODE, "operator", scopes, signed_at, token, nonce)
        signature = self.key.sign("|".join(map(str, parts)).encode())
        return {
            "id": device,
            "publicKey": _base64(public),
            "signature": _base64(signature),
            "signedAt": signed_at,
            "nonce": nonce,
        }


class OpenclawGateway:
    """One gateway.

    Args:
        http: the session to use, which the caller closes.
        token: the gateway's token or password; empty if it needs none.
    """

    def __init__(self, http: aiohttp.ClientSession, url: str, token: str, device: Device) -> None:
        self.url = _checked(url)
        self._http = http
        self._token = token
        self._device = device
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._ids = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[Json]] = {}
        self.started_at = 0.0
        """When the gateway started: it has forgotten the questions of before."""

    @asynccontextmanager
    async def open_event_stream(self) -> AsyncIterator[AsyncIterator[Json]]:
        """Connect, and stream the events from now on, until the connection is lost.

        Raises:
            ServerUnavailableError: the gateway cannot be reached, starts, or has to pair this client first.
            ForeignServerError: it is no gateway, or refuses the token.
        """
        try:
            async with self._http.ws_connect(
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
        if _object(response.get("error")).get("retryable") is True:
            raise ServerUnavailableError(f"{self.url} cannot answer {method} now.")
        return None

    async def _shake_hands(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async with asyncio.timeout(_TIMEOUT):
            challenge = await self._next_frame(socket)
            if challenge.get("event") != "connect.challenge":
                raise self._foreign()
            proof = self._device.proof(_object(challenge.get("payload")), self._token)
            await socket.send_json(_request("connect", "connect", self._introduction(proof)))
            response = await self._next_frame(socket)
        if response.get("ok") is not True:
            raise self._refusal(_object(response.get("error")))
        snapshot = _object(_object(response.get("payload")).get("snapshot"))
        uptime = snapshot.get("uptimeMs")
        self.started_at = time.time() - (uptime / 1000 if isinstance(uptime, int | float) else 0)

    def _introduction(self, proof: Json) -> Json:
        client: Json = {
            "id": _CLIENT,
            "displayName": "Answerback",
            "version": VERSION,
            "platform": _PLATFORM,
            "mode": _MODE,
        }
        return {
            "minProtocol": _PROTOCOL,
            "maxProtocol": _PROTOCOL,
            "client": client,
            "role": "operator",
            "scopes": [*_SCOPES],
            "caps": _CAPABILITIES,
            "auth": {"token": self._token} if self._token else {},
            "device": proof,
        }

    def _refusal(self, error: Json) -> Exception:
        details = _object(error.get("details"))
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
            return _OBJECT.validate_json(message.data)
        except ValidationError:
            raise self._foreign() from None

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


def _checked(url: str) -> str:
    """Return the address, unless what is sent there could be read on the way or stands in the address itself."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.username or parts.password or parts.query:
        raise ForeignServerError(
            "Put the gateway's token into the environment, not into its address."
        )
    if (parts.scheme == "wss" and host) or (parts.scheme == "ws" and _is_loopback(host)):
        return url
    raise ForeignServerError(
        f"{url} is not the address of a gateway. Use ws://127.0.0.1:18789, or wss:// for another machine."
    )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _object(value: JsonValue) -> Json:
    return value if isinstance(value, dict) else {}


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
