"""The fake's Socket Mode: tickets, hello, envelopes with acknowledgements, disconnects.

Owns the open connections (at most ten; each payload goes to one of them, in turn) and what they
answered. Source: https://docs.slack.dev/apis/events-api/using-socket-mode
"""

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web

from tests.fakes.slack import rules
from tests.fakes.slack.delivery import Ack, Retry
from tests.fakes.slack.schema import Json
from tests.fakes.slack.workspace import APP


@dataclass(slots=True, eq=False)
class Connection:
    """One open socket of the app."""

    socket: web.WebSocketResponse
    request: web.Request
    sent: list[str] = field(default_factory=list)

    def abort(self) -> None:
        """Cut it silently."""
        if self.request.transport is not None:
            self.request.transport.abort()


@dataclass(slots=True)
class _Awaited:
    future: asyncio.Future[Json]
    connection: Connection


class SocketMode:
    """Deliver payloads over the sockets that the app holds open."""

    def __init__(self) -> None:
        self.connections: list[Connection] = []
        self.opened = 0
        self.late_acks: list[str] = []
        self.wire: list[Json] = []
        # whether Slack takes an ack that comes over a later socket is unconfirmed: by default not
        self.acks_on_any_connection = False
        # whether Slack leaves it to the app to close a connection beyond the ten is unconfirmed: by default not
        self.lingers = False
        self.on_connect: Callable[[], None] = lambda: None
        self.on_send: Callable[[], None] = lambda: None
        self._tickets: set[str] = set()
        self._awaited: dict[str, _Awaited] = {}
        self._turn = 0
        self._changed = asyncio.Event()

    def ticket(self) -> str:
        """A one-time right to connect."""
        ticket = secrets.token_urlsafe(16)
        self._tickets.add(ticket)
        return ticket

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """The server side of `wss://…?ticket=…`."""
        if request.query.get("ticket") not in self._tickets:
            return web.Response(status=403, text="invalid ticket")
        self._tickets.discard(request.query["ticket"])
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        connection = Connection(socket, request)
        if len(self.connections) >= rules.SOCKET_CONNECTIONS:
            await socket.send_json({"type": "disconnect", "reason": "too_many_websockets"})
            if self.lingers:
                async for _ in socket:
                    pass
            await socket.close()
            return socket
        self.connections.append(connection)
        self.opened += 1
        await socket.send_json({
            "type": "hello", "num_connections": len(self.connections),
            "debug_info": {"host": "fake", "build_number": 1, "approximate_connection_time": 18060},
            "connection_info": {"app_id": APP},
        })  # fmt: skip
        self._notify()
        self.on_connect()
        try:
            await self._read(connection)
        finally:
            self.connections = [c for c in self.connections if c is not connection]
            self._give_up(connection)
            self._notify()
        return socket

    async def connected(self, count: int = 1, timeout: float = 60.0) -> None:
        """Wait until the app holds at least that many connections (0: none at all)."""
        async with asyncio.timeout(timeout):
            while self.connections if count == 0 else len(self.connections) < count:
                self._changed.clear()
                await self._changed.wait()

    async def reconnected(
        self, opened: int, timeout: float = 60.0, *, instead_of: Sequence[Connection] = ()
    ) -> None:
        """Wait until more than `opened` connections were made in all, and one is open, but none `instead_of` which."""
        async with asyncio.timeout(timeout):
            while (
                self.opened <= opened
                or not self.connections
                or any(each in instead_of for each in self.connections)
            ):
                self._changed.clear()
                await self._changed.wait()

    async def send(self, kind: str, payload: Json, retry: Retry | None = None) -> Ack:
        """Send an envelope over one connection and wait three seconds for its acknowledgement."""
        if not self.connections:
            return Ack(ok=False, error="no_connection")
        self._turn += 1
        connection = self.connections[self._turn % len(self.connections)]
        id = secrets.token_hex(16)
        envelope: Json = {
            "envelope_id": id, "type": kind, "payload": payload,
            "accepts_response_payload": kind in {"interactive", "slash_commands"},
        }  # fmt: skip
        if kind == "events_api":
            envelope["retry_attempt"] = retry.number if retry else 0
            envelope["retry_reason"] = retry.reason if retry else ""
        return await self.deliver(envelope, connection)

    async def deliver(self, envelope: Json, connection: Connection | None = None) -> Ack:
        """Send an envelope unchanged, even if it was sent before."""
        chosen = connection or self.connections[0]
        id = str(envelope["envelope_id"])
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._awaited[id] = _Awaited(future, chosen)
        self.wire.append(envelope)
        chosen.sent.append(id)
        self.on_send()
        started = time.perf_counter()
        try:
            await chosen.socket.send_str(json.dumps(envelope))
            answer = await asyncio.wait_for(future, rules.ACK_SECONDS)
        except TimeoutError:
            return Ack(ok=False, seconds=time.perf_counter() - started, error="timeout")
        except ConnectionError as error:
            return Ack(ok=False, error=f"connection_failed: {error}")
        finally:
            self._awaited.pop(id, None)
        body = answer.get("payload")
        return Ack(
            ok=True,
            status=200,
            body=body if isinstance(body, dict) and body else None,
            seconds=time.perf_counter() - started,
        )

    async def disconnect(self, reason: str = "refresh_requested", *, close: bool = True) -> None:
        """Ask every connection to close; `warning` is sent about ten seconds before the close."""
        for connection in list(self.connections):
            await connection.socket.send_json({
                "type": "disconnect", "reason": reason, "debug_info": {"host": "fake"},
            })  # fmt: skip
            if close and reason != "warning":
                await connection.socket.close()

    def abort(self) -> None:
        """Cut every connection silently."""
        for connection in list(self.connections):
            connection.abort()

    async def close(self) -> None:
        """Close all connections."""
        for connection in list(self.connections):
            await connection.socket.close()

    async def _read(self, connection: Connection) -> None:
        async for message in connection.socket:
            if message.type is not WSMsgType.TEXT:
                continue
            answer = json.loads(message.data)
            id = str(answer.get("envelope_id"))
            awaited = self._awaited.get(id)
            taken = awaited is not None and (
                self.acks_on_any_connection or awaited.connection is connection
            )
            if awaited is not None and taken and not awaited.future.done():
                awaited.future.set_result(answer)
            else:
                self.late_acks.append(id)

    def _give_up(self, connection: Connection) -> None:
        """Give up the payloads that were sent over a closed connection: they can no longer be acknowledged over it."""
        for awaited in self._awaited.values():
            lost = awaited.connection is connection and not self.acks_on_any_connection
            if lost and not awaited.future.done():
                awaited.future.set_exception(ConnectionResetError("the socket closed"))

    def _notify(self) -> None:
        self._changed.set()
