"""An agent's webhook receiver: a real HTTP server that sends scripted responses and records its requests."""

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
    """A request as it was received."""

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
        event: dict[str, Any] = json.loads(self.body)
        return event


Answer = Callable[[Received], Awaitable[web.StreamResponse]]


@dataclass
class Receiver:
    """A receiver at ``url``. Each request uses up one of ``answers``; when they run out, ``always`` answers."""

    url: str
    received: list[Received] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    always: Answer | None = None
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Record a webhook and answer it."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        received = Received(headers, await request.read(), request.transport)
        async with self._changed:
            self.received.append(received)
            self._changed.notify_all()
        answer = self.answers.pop(0) if self.answers else self.always
        return web.Response(status=204) if answer is None else await answer(received)

    async def until(self, count: int) -> list[Received]:
        """Wait for at least the given number of requests, and return all that were received."""
        async with asyncio.timeout(WAIT), self._changed:
            await self._changed.wait_for(lambda: len(self.received) >= count)
        return self.received


def status(code: int, **headers: str) -> Answer:
    """Return an answer with this status; underscores in header names stand for dashes."""

    async def answer(_: Received) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=code, headers=named)

    return answer


async def never(_: Received) -> web.StreamResponse:
    """Give no answer until the caller hangs up."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets this event")


async def hanging_up(received: Received) -> web.StreamResponse:
    """Accept the webhook, and close the connection instead of answering."""
    if received.transport is not None:  # the caller has not hung up before
        received.transport.close()
    return web.Response()


async def endless(_: Received) -> web.StreamResponse:
    """Accept the webhook, and send a body that never ends."""
    return web.Response(status=200, body=_endless_bytes())


async def _endless_bytes() -> AsyncIterator[bytes]:
    while True:
        yield b"x" * 65_536
        await asyncio.sleep(0)


@asynccontextmanager
async def receiving(host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Receiver]:
    """Run a receiver on loopback."""
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
