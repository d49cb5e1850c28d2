"""Several real services on one PostgreSQL, behind an HTTP proxy that passes requests to them in turn."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp
from aiohttp import web

from tests.acceptance.process import PATIENCE, Process, serving
from tests.person_keys import bearer
from tests.ports import free_port

_HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host"})
"""Headers that apply to one connection only, or that the proxy sets again."""


class Proxy:
    """A load balancer: each request goes to the next address, or to the one after if nothing listens there."""

    def __init__(self) -> None:
        self.targets: list[str] = []
        self.url = ""
        self.taken: list[str] = []
        """Which address took each request."""

    @asynccontextmanager
    async def up(self) -> AsyncIterator[Proxy]:
        """Run the proxy, listening."""
        app = web.Application(client_max_size=1 << 24)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.url = "http://{}:{}".format(*runner.addresses[0][:2])
            connector = aiohttp.TCPConnector(limit=0, force_close=True)
            async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as http:
                self._http = http
                yield self
        finally:
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        for _ in range(len(self.targets)):
            target = self.targets.pop(0)
            self.targets.append(target)
            try:
                return await self._forward(request, target, body)
            except aiohttp.ClientConnectorError:
                continue
            except (aiohttp.ClientError, ConnectionError):
                break
        return web.Response(status=502)

    async def _forward(self, request: web.Request, target: str, body: bytes) -> web.StreamResponse:
        headers = {
            name: value for name, value in request.headers.items() if name.lower() not in _HOP
        }
        async with self._http.request(
            request.method,
            target + request.path_qs,
            headers=headers,
            data=body,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=None),
        ) as answer:
            self.taken.append(target)
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in _HOP}
            response = web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
            try:
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
            except (aiohttp.ClientError, ConnectionError):
                if request.transport is not None:
                    request.transport.abort()  # the client has a part of the answer: there is no more
                raise
            await response.write_eof()
            return response


@dataclass
class Replica:
    """A service and its addresses."""

    process: Process
    url: str
    public: str

    async def ready(self) -> dict[str, Any]:
        """Return its state among the replicas, once it is ready; its database may be down."""
        async with aiohttp.ClientSession(self.url) as http:
            while True:
                async with http.get("/readyz") as response:
                    body: dict[str, Any] = await response.json()
                if response.status == 200:
                    return dict(body["replica"])
                await asyncio.sleep(0.1)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.signal(number)


@dataclass
class Town:
    """All replicas, and two proxies in front of them: one for agents, one for the platforms."""

    folder: Path
    environment: Mapping[str, str]
    database: str
    api: Proxy = field(default_factory=Proxy)
    public: Proxy = field(default_factory=Proxy)
    replicas: list[Replica] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    started: int = 0
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def add(self, **more: str) -> Replica:
        """Start one more replica."""
        port = free_port()
        environment = {
            "ANSWERBACK_STORAGE__URL": self.database,
            "ANSWERBACK_PUBLIC__PORT": str(port),
            **self.environment,
            **more,
        }
        process, url = await self._stack.enter_async_context(serving(self.folder, environment))
        self.started += 1
        drain = asyncio.create_task(self._drain(process, self.started))
        self._stack.push_async_callback(_cancel, drain)
        replica = Replica(process, url, f"http://127.0.0.1:{port}")
        self.replicas.append(replica)
        self.api.targets.append(url)
        self.public.targets.append(replica.public)
        return replica

    async def kill(self, replica: Replica) -> None:
        """Kill a replica with -9; the proxies find that out for themselves."""
        replica.signal(signal.SIGKILL)
        await replica.process.child.wait()
        self.replicas.remove(replica)

    async def leader(self, surface: str = "discord") -> Replica:
        """Return the replica that holds the surface's lease, once there is one."""
        async with asyncio.timeout(3 * PATIENCE):
            while True:
                for replica in self.replicas:
                    with suppress(aiohttp.ClientError, KeyError, TimeoutError):
                        async with asyncio.timeout(2):
                            if (await replica.ready())["leads"].get(surface):
                                return replica
                await asyncio.sleep(0.1)

    def agent(self, url: str | None = None) -> aiohttp.ClientSession:
        """Open an HTTP client for agents and people's tools, at the proxy or at one replica."""
        return aiohttp.ClientSession(url or self.api.url, headers=bearer(self.folder))

    async def _drain(self, process: Process, number: int) -> None:
        """Read the log, so that the process never blocks on a full pipe."""
        assert process.child.stderr is not None
        while line := await process.child.stderr.readline():
            self.log.append(f"{number} {line.decode().rstrip()}")


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def town(
    folder: Path, database: str, environment: Mapping[str, str], replicas: int = 2
) -> AsyncIterator[Town]:
    """Run the given number of replicas behind proxies."""
    made = Town(folder, environment, database)
    async with made.api.up(), made.public.up(), made._stack:
        for _ in range(replicas):
            await made.add()
        yield made


async def ended(
    http: aiohttp.ClientSession, ask_id: str, patience: float = 3 * PATIENCE
) -> dict[str, Any]:
    """Return the ask once it has ended, by long-polling, however often the connection is cut."""
    async with asyncio.timeout(patience):
        while True:
            with suppress(aiohttp.ClientError):
                async with http.get(
                    f"/v1/asks/{ask_id}", headers={"Prefer": "wait=20"}
                ) as response:
                    if response.status == 200:
                        ask: dict[str, Any] = await response.json()
                        return ask
            await asyncio.sleep(0.05)
