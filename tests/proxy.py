"""A TCP proxy that loses what a test wants lost: whole connections, requests, or responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_CHUNK = 1 << 16


class Proxy:
    """Passes bytes between clients and a server on loopback."""

    def __init__(self, to: int) -> None:
        self._to = to
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.cut_after_request = False
        """Pass the client's next bytes to the server, but cut the connection before it responds."""
        self.cut_before_request = False
        """Drop the client's next bytes, and the connection with them."""
        self.refusing = False
        """True if new connections are cut immediately, as if the server could not be reached."""

    def cut(self) -> None:
        """Cut every connection."""
        for writer in self._writers:
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on the bytes to and from one client."""
        if self.refusing:
            writer.transport.abort()
            return
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, to_server}
        for task in (self._requests(reader, to_server), self._pass(from_server, writer)):
            self._tasks.add(asyncio.create_task(task))

    async def _requests(self, reader: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        while (data := await _read(reader)) and not server.is_closing():
            if self.cut_before_request:
                self.cut_before_request = False
                self.cut()
            elif self.cut_after_request:
                self.cut_after_request = False
                client = [writer for writer in self._writers if writer is not server]
                for writer in client:
                    writer.transport.abort()
                server.write(data)
            else:
                server.write(data)
        server.close()  # the client is gone, so let its server know

    async def _pass(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        while (data := await _read(reader)) and not client.is_closing():
            client.write(data)
        client.transport.abort()

    async def close(self) -> None:
        """Cut and forget every connection."""
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(_CHUNK)
    except OSError:
        return b""


@asynccontextmanager
async def proxy(to: int) -> AsyncIterator[Proxy]:
    """Run a proxy to a port, on a free port."""
    running = Proxy(to)
    listener = await asyncio.start_server(running.serve, "127.0.0.1", 0)
    running.port = listener.sockets[0].getsockname()[1]
    try:
        yield running
    finally:
        listener.close()
        await running.close()
