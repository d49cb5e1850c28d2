"""A TCP proxy that loses what a test wants lost: whole connections, requests, or answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_MOST = 1 << 16


class Proxy:
    """Passes bytes between clients and a server on loopback."""

    def __init__(self, to: int) -> None:
        self._to = to
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.cut_after_request = False
        """The server gets what a client sends next; the connection is cut before it answers."""
        self.cut_before_request = False
        """What a client sends next is lost, and the connection with it."""
        self.refusing = False
        """Whether new connections are cut at once: the server cannot be reached."""

    def cut(self) -> None:
        """Ends every connection."""
        for writer in self._writers:
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Passes on what comes from one client and goes to it."""
        if self.refusing:
            writer.transport.abort()
            return
        try:
            theirs, mine = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, mine}
        for task in (self._requests(reader, mine), self._pass(theirs, writer)):
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
        server.close()  # the client is gone, and its server is to know

    async def _pass(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        while (data := await _read(reader)) and not client.is_closing():
            client.write(data)
        client.transport.abort()

    async def close(self) -> None:
        """Ends every connection, and forgets them."""
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(_MOST)
    except OSError:
        return b""


@asynccontextmanager
async def proxy(to: int) -> AsyncIterator[Proxy]:
    """A proxy to a port, on a port of its own."""
    made = Proxy(to)
    listening = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = listening.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        listening.close()
        await made.close()
