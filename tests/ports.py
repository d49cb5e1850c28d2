"""Servers whose address must be known before they start, or stays the same while they are down."""

from __future__ import annotations

import asyncio
import atexit
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

_FIRST: Final = 10_000
_LAST: Final = 32_767
"""Above it are the ports that Linux gives to whoever asks for any, so a port there may be taken at any moment."""


def free_port() -> int:
    """Return a port that nobody listens on, and that no other test gets while this process runs."""
    while True:
        port = _FIRST + secrets.randbelow(_LAST - _FIRST + 1)
        # TCP and UDP have separate ports: to have the one reserves the other.
        reservation = socket.socket(type=socket.SOCK_DGRAM)
        try:
            reservation.bind(("127.0.0.1", port))
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            reservation.close()
        else:
            atexit.register(reservation.close)  # until then, it is held
            return port


@asynccontextmanager
async def gone_after_one_request() -> AsyncIterator[str]:
    """A service that goes once it has read a request, so that nobody knows what it did with it."""

    async def read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        server.close()  # from now on, connections are refused
        writer.close()

    server = await asyncio.start_server(read, "127.0.0.1", free_port())
    async with server:
        yield "http://{}:{}".format(*server.sockets[0].getsockname())
