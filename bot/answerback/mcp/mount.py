"""Mount ``/mcp`` on the agents' listener. The MCP SDK is imported on the first request; if missing, that gets a 501."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import web
from aiohttp.web_routedef import AbstractRouteDef

from answerback.core.errors import ProblemError
from answerback.mcp.backend import PATH
from answerback.service.agent_requests import Callers
from answerback.service.service import Service
from answerback_base.install_extras import MCP, missing_extra_message

if TYPE_CHECKING:
    from answerback.mcp.endpoint import McpEndpoint


@asynccontextmanager
async def routes(
    service: Service, callers: Callers, *, tokens: bool, wait: float
) -> AsyncIterator[Sequence[AbstractRouteDef]]:
    """Provide the routes until the context exits.

    Args:
        tokens: whether callers send tokens.
        wait: maximum seconds that a call waits, if its URL does not say.
    """
    missing = missing_extra_message(*MCP, PATH)
    if missing is not None:

        async def refuse(_request: web.Request) -> web.StreamResponse:
            raise ProblemError(501, "MCP is not installed", missing)

        yield [web.route("*", PATH, refuse)]
        return
    endpoint = _LazyEndpoint(service, callers, tokens, wait)
    try:
        # POST only: without sessions there is nothing to GET or DELETE.
        yield [web.post(PATH, endpoint.handle)]
    finally:
        await endpoint.close()


@dataclass
class _LazyEndpoint:
    """An `McpEndpoint` that is imported in a thread when the first client calls.

    Importing the SDK takes half as long as importing the rest of the service, and 27 MB of memory.
    """

    service: Service
    callers: Callers
    tokens: bool
    wait: float
    _running: AsyncExitStack = field(default_factory=AsyncExitStack)
    _loading: asyncio.Task[McpEndpoint] | None = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self._loading is None:
            await self.callers.agent(request)  # do not load the SDK for a caller without a token
            # Another caller may have begun to load it in the meantime.
            self._loading = self._start_loading()
        endpoint = await asyncio.shield(self._loading)
        return await endpoint.handle(request)

    def _start_loading(self) -> asyncio.Task[McpEndpoint]:
        return self._loading or asyncio.create_task(self._load(), name="loading MCP")

    async def close(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)
        await self._running.aclose()

    async def _load(self) -> McpEndpoint:
        module = await asyncio.to_thread(importlib.import_module, "answerback.mcp.endpoint")
        endpoint: McpEndpoint = module.McpEndpoint(
            self.service, self.callers, tokens=self.tokens, wait=self.wait
        )
        await self._running.enter_async_context(endpoint.running())
        return endpoint
