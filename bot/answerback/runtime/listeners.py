"""The listeners: that of agents, with the API, MCP, the hooks and the pages, and the public one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aiohttp import web

from answerback.api.auth import Authenticator
from answerback.api.operation import Api
from answerback.api.problems import refuse_unsupported
from answerback.api.server import build_local_app, build_public_app
from answerback.hooks.endpoint import HookEndpoints
from answerback.http.unverified_connections import (
    UnverifiedConnections,
    public_connection_limit,
    unverified_agents_limit,
)
from answerback.mcp import mount
from answerback.ports.plugin import BuiltSurface
from answerback.runtime.background import Background
from answerback.runtime.built_service import BuiltService
from answerback.runtime.extensions import row_tables
from answerback.runtime.foundation import Foundation
from answerback.runtime.sockets import serve_app, serve_public
from answerback.service.agent_requests import Callers
from answerback_base.addresses import is_loopback


async def start_listeners(
    on: Foundation, built: BuiltService, surfaces: Sequence[BuiltSurface], background: Background
) -> None:
    """Accept connections. With the stack, the requests in progress end first."""
    service, stack, sockets = built.service, on.stack, on.sockets
    api = _build_api(on, built, background)
    local_app = await _build_local_app(on, api, surfaces, built.extensions.routes())
    if on.tracing is not None:
        local_app.middlewares.insert(0, on.tracing.middleware)
    strangers = UnverifiedConnections(unverified_agents_limit(), counts_verified=False)
    listener = await serve_app(local_app, sockets.api, strangers, refuse_unsupported)
    stack.push_async_callback(on.pending_changes.finish)
    stack.push_async_callback(listener.cleanup)
    if sockets.public:
        public_app = build_public_app(
            api,
            pages=[route for surface in surfaces for route in surface.public_pages],
            hooks=[route for surface in surfaces for route in surface.hooks],
        )
        connections = UnverifiedConnections(public_connection_limit())
        public = serve_public(public_app, sockets.public, refuse_unsupported, connections)
        stack.push_async_callback(on.pending_changes.finish)
        await stack.enter_async_context(public)
    # Release the waiters first, because a closing listener waits for the requests in progress.
    stack.callback(service.stop_waiting)


def _build_api(on: Foundation, built: BuiltService, background: Background) -> Api:
    service, replica = built.service, background.replica
    return Api(
        service=service,
        store=on.opened.store,
        surfaces=service.surfaces,
        tokens=Authenticator(built.tokens, built.extensions.having_agents(), on.holders),
        metrics=on.metrics,
        enabled=service.rules.enabled,
        show_counts=lambda: background.message_sync.show_counts,
        replica=None if replica is None else replica.status,
        extensions=built.extensions.running.values(),
        exported_rows=[table.name for table in row_tables() if table.exported],
        pending_changes=on.pending_changes,
    )


async def _build_local_app(
    on: Foundation, api: Api, surfaces: Iterable[BuiltSurface], added: Iterable[web.RouteDef]
) -> web.Application:
    """Build the agents' application: the API, MCP, the hooks, and the pages."""
    settings = on.settings
    callers = Callers(api.tokens.authenticate_agent, api.run_to_completion)
    wait = settings.mcp.wait
    mcp = mount.routes(api.service, callers, tokens=api.tokens.required, wait=wait)
    hooks = HookEndpoints(api.service, callers).routes()
    routes = [*await on.stack.enter_async_context(mcp), *hooks, *added]
    loopback = is_loopback(settings.server.host)
    pages = [page for surface in surfaces for page in surface.pages]
    return build_local_app(api, routes=routes, pages=pages, loopback=loopback)
