"""The connections of the listeners: limited in number and time until a request on them is verified.

aiohttp limits neither the number of connections nor the time that a request takes to arrive, so connections are
accepted here. The code that verifies a request (a signature, a link, a token) calls `mark_request_verified`. Unverified
connections can never use up the descriptors that agents, the database and the platforms need.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

logger = logging.getLogger(__name__)

VERIFY_TIMEOUT: Final = 15.0
"""Seconds within which a request on a connection must be verified. Platforms give up on a request after three."""
MAX_PUBLIC_CONNECTIONS: Final = 1_000
"""Maximum number of connections of the public listener."""
PUBLIC_SHARE: Final = 3
"""The public listener may use one of so many descriptors of the process."""
MAX_UNVERIFIED_AGENTS: Final = 20_000
"""Maximum number of unverified connections of the agents' listener, which take some 200 MB.

After a restart thousands of agents connect before the first of them has sent its request, so this is no small number.
"""
UNVERIFIED_AGENTS_SHARE: Final = 2
"""Unverified connections of the agents' listener may use one of so many descriptors."""
_PAUSE: Final = 0.2
"""Seconds to wait before accepting again after an error, such as having no descriptor left."""


def public_connection_limit() -> int:
    """The maximum number of connections of the public listener."""
    return _limit(PUBLIC_SHARE, MAX_PUBLIC_CONNECTIONS)


def unverified_agents_limit() -> int:
    """The maximum number of unverified connections of the agents' listener."""
    return _limit(UNVERIFIED_AGENTS_SHARE, MAX_UNVERIFIED_AGENTS)


def _limit(share: int, maximum: int) -> int:
    """One of ``share`` of the process's descriptors, but at most ``maximum``."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return maximum if soft == resource.RLIM_INFINITY else max(1, min(maximum, soft // share))


@dataclass(slots=True)
class _Connection:
    address: str
    expiry: asyncio.TimerHandle
    verified: bool = False


@dataclass(eq=False)
class UnverifiedConnections:
    """Accept connections, and close unverified ones if there are too many or one takes too long."""

    maximum: int
    """Maximum number of connections at a time."""
    seconds: float = VERIFY_TIMEOUT
    """The time within which a request on a connection must be verified."""
    counts_verified: bool = True
    """True if verified connections count, too. Those of agents do not: each may wait for an answer for hours."""
    _open: dict[asyncio.Transport, _Connection] = field(default_factory=dict)

    async def accept(self, bound: socket.socket, serve: Callable[[], asyncio.Protocol]) -> None:
        """Accept connections on a listening socket until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(bound)
            except OSError as error:
                logger.warning("Cannot accept connections: %s", error, extra={"action": "accept"})
                await asyncio.sleep(_PAUSE)
                continue
            self._close_surplus()
            try:
                transport, _ = await loop.connect_accepted_socket(serve, accepted)
            except OSError:  # the client disconnected first
                accepted.close()
                continue
            expiry = loop.call_later(self.seconds, self._expire, transport)
            self._open[transport] = _Connection(str(address[0]), expiry)

    def mark_verified(self, transport: asyncio.Transport | None) -> None:
        """Note that a request on a connection was verified."""
        if transport not in self._open:
            return
        connection = self._open[transport]
        connection.expiry.cancel()  # a timer takes 700 bytes, and thousands of agents may come at once
        connection.verified = True
        if not self.counts_verified:
            del self._open[transport]

    def _close_surplus(self) -> None:
        """Close surplus connections: unverified ones first, starting with the oldest of the address with the most."""
        if len(self._open) < self.maximum:
            return
        self._open = {t: c for t, c in self._open.items() if not t.is_closing()}
        while len(self._open) >= self.maximum:
            unverified = [(t, c) for t, c in self._open.items() if not c.verified]
            candidates = unverified or list(self._open.items())
            counts = Counter(c.address for _, c in candidates)
            address = counts.most_common(1)[0][0]
            self._close(next(t for t, c in candidates if c.address == address))

    def _expire(self, transport: asyncio.Transport) -> None:
        if transport in self._open:
            self._close(transport)

    def _close(self, transport: asyncio.Transport) -> None:
        del self._open[transport]
        transport.abort()  # not close(), which waits until the client has read what was written


UNVERIFIED_CONNECTIONS: Final = web.AppKey("unverified_connections", UnverifiedConnections)


def mark_request_verified(request: web.Request) -> None:
    if (connections := request.app.get(UNVERIFIED_CONNECTIONS)) is not None:
        connections.mark_verified(request.transport)
