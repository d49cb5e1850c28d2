"""An agent's webhook receiver: a real HTTP server that answers as a test tells it, and remembers what came."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

WAIT = 60.0
"""Seconds after which a test gives up waiting for a webhook."""


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    headers: Mapping[str, str]
    body: bytes
    transport: asyncio.BaseTransport | None = None

    @property
    def id(self) -> str:
        """The webhook's id."""
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        """The body as JSON."""
        found: dict[str, Any] = json.loads(self.body)
        return found


Answer = Callable[[Received], Awaitable[web.StreamResponse]]


@dataclass
class Receiver:
    """A receiver that is up at ``url``. ``answers`` are used up one a request; then it is ``always`` that answers."""

    url: str
    received: list[Received] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    always: Answer | None = None
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One webhook."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        received = Received(headers, await request.read(), request.transport)
        async with self._changed:
            self.received.append(received)
            self._changed.notify_all()
        answer = self.answers.pop(0) if self.answers else self.always
        return web.Response(status=204) if answer is None else await answer(received)

    async def until(self, count: int) -> list[Received]:
        """What was received, once it is so many."""
        async with asyncio.timeout(WAIT), self._changed:
            await self._changed.wait_for(lambda: len(self.received) >= count)
        return self.received


def status(code: int, **headers: str) -> Answer:
    """Answers with a status; underscores in header names are dashes."""

    async def answer(_: Received) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=code, headers=named)

    return answer


async def never(_: Received) -> web.StreamResponse:
    """Does not answer until the caller hangs up."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets this event")


async def hanging_up(received: Received) -> web.StreamResponse:
    """Takes the webhook, and closes the connection instead of answering."""
    assert received.transport is not None
    received.transport.close()
    return web.Response()


async def endless(_: Received) -> web.StreamResponse:
    """Takes the webhook, and never comes to the end of its body."""
    return web.Response(status=200, body=_bytes_without_end())


async def _bytes_without_end() -> AsyncIterator[bytes]:
    while True:
        yield b"x" * 65_536
        await asyncio.sleep(0)


@asynccontextmanager
async def receiving(host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Receiver]:
    """A receiver on loopback."""
    app = web.Application()
    receiver = Receiver("")
    app.router.add_post("/{path:.*}", receiver.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, host, port)
    await site.start()
    receiver.url = f"http://{host}:{runner.addresses[0][1]}/hook"
    try:
        yield receiver
    finally:
        await runner.cleanup()
