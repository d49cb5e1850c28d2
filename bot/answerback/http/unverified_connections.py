"""The connections of the public listener: few, short and replaceable until it is known who is behind one.

aiohttp has no bound on connections, and none on the time that a request takes to arrive; so connections are accepted
here. Whoever verifies a request (a signature, a link) says so with `mark_request_verified`. Whatever strangers do, the
descriptors that the agents' listener, the database and the platforms need are not theirs.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

logger = logging.getLogger(__name__)

VERIFY_TIMEOUT: Final = 15.0
"""How long a connection may take until a request on it is verified. Platforms give up on a request after three."""
MAX_CONNECTIONS: Final = 1_000
"""Connections of the public listener, at the most."""
_PAUSE: Final = 0.2
"""Seconds until accepting is tried again where the system has no descriptor left."""


def connection_limit(most: int = MAX_CONNECTIONS) -> int:
    """How many of this process's descriptors the public listener may have: a third, and never more than ``most``."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else max(1, min(most, soft // 3))


@dataclass(slots=True)
class _Connection:
    address: str
    known: bool = False


class UnverifiedConnections:
    """Accepts connections, and closes those of strangers where there are too many or one takes too long.

    Args:
        most: connections at a time.
        seconds: until a request has to be verified.
    """

    def __init__(self, most: int, seconds: float = VERIFY_TIMEOUT) -> None:
        self._most = most
        self._seconds = seconds
        self._open: dict[asyncio.Transport, _Connection] = {}

    async def accept(self, bound: socket.socket, serve: Callable[[], asyncio.Protocol]) -> None:
        """Accepts connections on a listening socket for as long as it is not cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(bound)
            except OSError as error:
                logger.warning(
                    "No connection can be accepted: %s", error, extra={"action": "accept"}
                )
                await asyncio.sleep(_PAUSE)
                continue
            self._make_room()
            try:
                transport, _ = await loop.connect_accepted_socket(serve, accepted)
            except OSError:  # it was gone before it was served
                accepted.close()
                continue
            self._open[transport] = _Connection(str(address[0]))
            loop.call_later(self._seconds, self._expire, transport)

    def mark_verified(self, transport: asyncio.Transport | None) -> None:
        """Notes that a request on a connection was verified."""
        if transport in self._open:
            self._open[transport].known = True

    def _make_room(self) -> None:
        """Closes what is too much: strangers first; of them the oldest of the address that has the most."""
        self._open = {t: c for t, c in self._open.items() if not t.is_closing()}
        while len(self._open) >= self._most:
            unknown = [(t, c) for t, c in self._open.items() if not c.known]
            candidates = unknown or list(self._open.items())
            counts = Counter(one.address for _, one in candidates)
            address = counts.most_common(1)[0][0]
            self._close(next(t for t, one in candidates if one.address == address))

    def _expire(self, transport: asyncio.Transport) -> None:
        connection = self._open.get(transport)
        if connection is not None and not connection.known:
            self._close(transport)

    def _close(self, transport: asyncio.Transport) -> None:
        del self._open[transport]
        transport.abort()  # not close(): that waits until what was written is read


UNVERIFIED_CONNECTIONS: Final = web.AppKey("strangers", UnverifiedConnections)


def mark_request_verified(request: web.Request) -> None:
    """Notes that a request was verified: its connection is no stranger's any more."""
    if (strangers := request.app.get(UNVERIFIED_CONNECTIONS)) is not None:
        strangers.mark_verified(request.transport)
