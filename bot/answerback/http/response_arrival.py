"""Whether responses arrived: found out from what becomes of their connections.

A client that is killed with a response in its socket's buffer, unread, resets the connection; one that has read it
closes the connection or sends the next request.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

RECEIVE_TIMEOUT: Final = 5.0
"""Seconds in which the other side's system has to take a response."""
LINGER: Final = 0.25
"""Seconds for which a stream is held open behind its last event: who leaves with that has read all there is."""
_FIRST_PAUSE: Final = 0.002
_CLOSED: Final = 7
"""TCP's state after a reset, in Linux."""
_INFO: Final = struct.Struct("=B23xI")
"""The state and the number of segments under way, of Linux's ``struct tcp_info``."""
_TCP_INFO: Final = getattr(socket, "TCP_INFO", None)
_UNKNOWN: Final = _INFO.pack(1, 0)
"""Where the system does not tell, an open connection counts as one that takes everything."""


class ConnectionEnd(Enum):
    """What became of the connection of a response."""

    READ = "read"
    LOST = "lost"


class ResponseArrival:
    """A response that was sent, or the last event of a stream.

    Args:
        lost: called if it turns out that it did not arrive.
    """

    def __init__(self, request: web.BaseRequest, lost: Callable[[], object]) -> None:
        self._transport = request.transport
        self._lost = lost
        self._end = asyncio.Event()
        self.end = None if self._transport is not None else ConnectionEnd.LOST

    def connection_ended(self, end: ConnectionEnd) -> None:
        """The connection is over, or the next request came on it."""
        self.end = end
        self._end.set()
        if end is ConnectionEnd.LOST:
            self._lost()

    async def wait_until_received(self) -> bool:
        """Whether the other side's system has taken it all, or the client has read it; waits for that a while."""
        pause, until = _FIRST_PAUSE, asyncio.get_running_loop().time() + RECEIVE_TIMEOUT
        while self.end is None:
            if is_acknowledged(self._transport):
                return True
            if asyncio.get_running_loop().time() > until:
                return False
            await self._ended_within(pause)
            pause *= 2
        return self.end is ConnectionEnd.READ

    async def wait_until_gone(self) -> None:
        """Returns once the client has left, or after a moment."""
        await self._ended_within(LINGER)

    async def _ended_within(self, seconds: float) -> None:
        ending = asyncio.ensure_future(self._end.wait())
        try:
            await asyncio.wait({ending}, timeout=seconds)
        finally:
            ending.cancel()


class ArrivalTracker:
    """The connections of one listener whose last response is to be known to have arrived."""

    def __init__(self) -> None:
        self._watched: dict[object, ResponseArrival] = {}

    def attach(self, server: web.Server) -> None:
        """Follows what happens to a server's connections."""
        lost, handle = server.connection_lost, server.request_handler

        def connection_lost(protocol: RequestHandler, error: BaseException | None = None) -> None:
            if (arrival := self._watched.pop(protocol, None)) is not None:
                well = error is None and is_acknowledged(protocol.transport)
                arrival.connection_ended(ConnectionEnd.READ if well else ConnectionEnd.LOST)
            lost(protocol, error)

        def next_request(request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
            if (arrival := self._watched.pop(request.protocol, None)) is not None:
                arrival.connection_ended(ConnectionEnd.READ)
            return handle(request)

        server.connection_lost = connection_lost  # type: ignore[method-assign, assignment]
        server.request_handler = next_request

    def track(self, request: web.BaseRequest, lost: Callable[[], object]) -> ResponseArrival:
        """Follows what becomes of the response to a request, which was just sent."""
        arrival = ResponseArrival(request, lost)
        if arrival.end is None:
            self._watched[request.protocol] = arrival
        return arrival


ARRIVAL_TRACKER: Final = web.AppKey("arrivals", ArrivalTracker)


def is_acknowledged(transport: asyncio.WriteTransport | None) -> bool:
    """Whether everything that was sent over a connection was taken, as far as the system tells."""
    if transport is None or transport.get_write_buffer_size():
        return False
    end: socket.socket = transport.get_extra_info("socket")
    tcp = socket.IPPROTO_TCP
    try:
        info = end.getsockopt(tcp, _TCP_INFO, _INFO.size) if _TCP_INFO else _UNKNOWN
    except OSError:  # it is closed already
        return False
    state, under_way = _INFO.unpack(info)
    return bool(under_way == 0 and state != _CLOSED)
