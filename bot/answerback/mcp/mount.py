"""``/mcp`` on the agents' listener, also where the extra ``mcp`` is not installed: then it says so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.web_routedef import AbstractRouteDef

from answerback.core.errors import ProblemError
from answerback.mcp.backend import PATH
from answerback.ports.extras import MCP, missing
from answerback.service.callers import Callers
from answerback.service.service import Service


@asynccontextmanager
async def routes(
    service: Service, callers: Callers, *, tokens: bool
) -> AsyncIterator[Sequence[AbstractRouteDef]]:
    """The routes, served for as long as the context lasts.

    Args:
        tokens: whether callers bear tokens.
    """
    sentence = missing(*MCP, PATH)
    if sentence is not None:

        async def refuse(_request: web.Request) -> web.StreamResponse:
            raise ProblemError(501, "MCP is not installed", sentence)

        yield [web.route("*", PATH, refuse)]
        return
    from answerback.mcp.http import McpEndpoint

    endpoint = McpEndpoint(service, callers, tokens=tokens)
    async with endpoint.running():
        yield endpoint.routes()
