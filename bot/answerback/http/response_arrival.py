"""Detect whether responses arrived.

A client that acknowledges (``Prefer: acknowledge``) says so itself. For the others, such as a host's own HTTP hook, it
is inferred from how their connections end: a client that is killed with an unread response in its socket's buffer
resets the connection; one that has read the response closes the connection or sends the next request.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Final, cast

from aiohttp import web

RECEIVE_TIMEOUT: Final = 5.0
"""Seconds within which the peer's system must acknowledge a response, or the client itself if it acknowledges."""
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
        """True once the client has read it; None: the connection is open, and not used again."""

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


class AwaitedAcknowledgement:
    """A response whose client acknowledges it in a request of its own, perhaps to another process.

    Args:
        given_up: called if the connection ends, or time is up: whatever was not acknowledged by then did not arrive.
        seconds: how long to wait.
    """

    def __init__(self, given_up: Callable[[], object], seconds: float = RECEIVE_TIMEOUT) -> None:
        self._given_up = given_up
        self._expiry = asyncio.get_running_loop().call_later(seconds, given_up)

    def connection_ended(self) -> None:
        self._expiry.cancel()
        self._given_up()

    async def wait_until_gone(self) -> None:
        """Return at once: how the connection ends says nothing."""


class ArrivalTracker:
    """The connections of one listener whose last response is being tracked."""

    def __init__(self) -> None:
        self._tracked: dict[asyncio.Transport, ResponseArrival] = {}
        self._awaited: dict[asyncio.Transport, AwaitedAcknowledgement] = {}

    def following(self, serve: Callable[[], asyncio.Protocol]) -> Callable[[], asyncio.Protocol]:
        """Return what makes protocols as `serve` does, and reports here how their connections end."""
        return lambda: _FollowedProtocol(serve(), self)

    def track(self, request: web.BaseRequest, lost: Callable[[], object]) -> ResponseArrival:
        """Track whether the response to a request, which was just sent, arrives."""
        arrival = ResponseArrival(request, lost)
        if request.transport is not None:
            self._tracked[request.transport] = arrival
        return arrival

    def await_acknowledgement(
        self, request: web.BaseRequest, given_up: Callable[[], object]
    ) -> AwaitedAcknowledgement:
        """Expect the client to acknowledge the response to a request, which was just sent."""
        awaited = AwaitedAcknowledgement(given_up)
        if request.transport is None:
            awaited.connection_ended()
        else:
            self._awaited[request.transport] = awaited
        return awaited

    def note_request(self, request: web.BaseRequest) -> None:
        """Note a new request: whoever sends it has read the previous response."""
        transport = request.transport
        if transport is not None and (arrival := self._tracked.pop(transport, None)) is not None:
            arrival.connection_ended(is_read=True)

    def connection_ended(self, transport: asyncio.Transport, error: Exception | None) -> None:
        """Note the end of a connection, which the client caused unless there is an error."""
        if (awaited := self._awaited.pop(transport, None)) is not None:
            awaited.connection_ended()
        if (arrival := self._tracked.pop(transport, None)) is not None:
            arrival.connection_ended(is_read=error is None and is_acknowledged(transport))


class _FollowedProtocol(asyncio.Protocol):
    """Passes everything on to another protocol, and reports how its connection ends."""

    __slots__ = ("_inner", "_tracker", "_transport")

    def __init__(self, inner: asyncio.Protocol, tracker: ArrivalTracker) -> None:
        self._inner = inner
        self._tracker = tracker

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # as that of every stream socket
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        self._tracker.connection_ended(self._transport, error)
        self._inner.connection_lost(error)


ARRIVAL_TRACKER: Final = web.AppKey("arrivals", ArrivalTracker)


def is_acknowledged(transport: asyncio.WriteTransport | None) -> bool:
    """Return True if all data sent on a connection was acknowledged, as far as the system reports."""
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
