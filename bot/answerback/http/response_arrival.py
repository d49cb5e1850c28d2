"""Detect whether responses arrived, from how their connections end.

A client that is killed with an unread response in its socket's buffer resets the connection; one that has read the
response closes the connection or sends the next request.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

RECEIVE_TIMEOUT: Final = 5.0
"""Seconds within which the peer's system must acknowledge a response."""
LINGER: Final = 0.25
"""Seconds to keep a stream open after its last event: a client that closes it then has read everything."""
_FIRST_PAUSE: Final = 0.002
_CLOSED: Final = 7
"""TCP_CLOSE: the TCP state after a reset, on Linux."""
_INFO: Final = struct.Struct("=B23xI")
"""The state and the number of unacknowledged segments, from Linux's ``struct tcp_info``."""
_TCP_INFO: Final = getattr(socket, "TCP_INFO", None)
_UNKNOWN: Final = _INFO.pack(1, 0)
"""If the system has no TCP_INFO, data on an open connection counts as acknowledged."""


class ResponseArrival:
    """A response that was sent, or the last event of a stream.

    Args:
        lost: called if the response turns out not to have arrived.
    """

    def __init__(self, request: web.BaseRequest, lost: Callable[[], object]) -> None:
        self._transport = request.transport
        self._lost = lost
        self._end = asyncio.Event()
        self.is_read = None if self._transport is not None else False
        """Whether the client has read it; None: the connection is open, and not used again."""

    def connection_ended(self, *, is_read: bool) -> None:
        """Note that the connection ended, or that the next request came on it."""
        self.is_read = is_read
        self._end.set()
        if not is_read:
            self._lost()

    async def wait_until_received(self) -> bool:
        """Wait until the peer's system has acknowledged it, or the client has read it; False after a timeout."""
        pause, until = _FIRST_PAUSE, asyncio.get_running_loop().time() + RECEIVE_TIMEOUT
        while self.is_read is None:
            if is_acknowledged(self._transport):
                return True
            if asyncio.get_running_loop().time() > until:
                return False
            await self._wait_for_end(pause)
            pause *= 2
        return self.is_read

    async def wait_until_gone(self) -> None:
        """Wait until the client has disconnected, or for `LINGER` seconds."""
        await self._wait_for_end(LINGER)

    async def _wait_for_end(self, seconds: float) -> None:
        ending = asyncio.ensure_future(self._end.wait())
        try:
            await asyncio.wait({ending}, timeout=seconds)
        finally:
            ending.cancel()


class ArrivalTracker:
    """The connections of one listener whose last response is being tracked."""

    def __init__(self) -> None:
        self._tracked: dict[object, ResponseArrival] = {}

    def attach(self, server: web.Server) -> None:
        """Hook into a server, to learn how its connections end."""
        lost, handle = server.connection_lost, server.request_handler

        def connection_lost(protocol: RequestHandler, error: BaseException | None = None) -> None:
            if (arrival := self._tracked.pop(protocol, None)) is not None:
                arrival.connection_ended(
                    is_read=error is None and is_acknowledged(protocol.transport)
                )
            lost(protocol, error)

        def next_request(request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
            if (arrival := self._tracked.pop(request.protocol, None)) is not None:
                arrival.connection_ended(is_read=True)
            return handle(request)

        server.connection_lost = connection_lost  # type: ignore[method-assign, assignment]
        server.request_handler = next_request

    def track(self, request: web.BaseRequest, lost: Callable[[], object]) -> ResponseArrival:
        """Track whether the response to a request, which was just sent, arrives."""
        arrival = ResponseArrival(request, lost)
        if arrival.is_read is None:
            self._tracked[request.protocol] = arrival
        return arrival


ARRIVAL_TRACKER: Final = web.AppKey("arrivals", ArrivalTracker)


def is_acknowledged(transport: asyncio.WriteTransport | None) -> bool:
    """Whether all data sent on a connection was acknowledged, as far as the system reports."""
    if transport is None or transport.get_write_buffer_size():
        return False
    end: socket.socket = transport.get_extra_info("socket")
    tcp = socket.IPPROTO_TCP
    try:
        info = end.getsockopt(tcp, _TCP_INFO, _INFO.size) if _TCP_INFO else _UNKNOWN
    except OSError:  # the socket is closed already
        return False
    state, unacknowledged = _INFO.unpack(info)
    return bool(unacknowledged == 0 and state != _CLOSED)
