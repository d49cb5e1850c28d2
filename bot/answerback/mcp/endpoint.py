"""The MCP server at ``/mcp``: streamable HTTP without sessions, with the official SDK, inside aiohttp.

Requests are independent of each other, so that clients survive a restart of the service: a session's id only says which
client cancels which call. Responses are event streams, because otherwise we would not notice that a client has
disconnected.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
from aiohttp import web
from aiohttp_asgi.resource import ASGIContext, ScopeDict
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import JsonValue
from starlette.requests import Request

from answerback.core.errors import ProblemError
from answerback.http.json_parsing import MAX_BODY, parse_json
from answerback.mcp.backend import AskBackend, ServiceBackend
from answerback.mcp.cancellation import (
    CANCELLED,
    SESSION_HEADER,
    CancellableCall,
    CancellableCalls,
    call_key,
    new_session_id,
)
from answerback.mcp.server import PROGRESS_INTERVAL, build_mcp_server
from answerback.mcp.tasks import Context
from answerback.mcp.tools import DEFAULT_TOOLS, AskingTool, parse_asking_tools
from answerback.service.agent_requests import RESPONSE_TRACKER, Callers, read_body
from answerback.service.service import Service
from answerback.service.submission_request import Agent

_AGENT: Final = "answerback.agent"
_OFFERED: Final = "answerback.tools"
_CALL: Final = "answerback.call"
_LOOPBACK: Final = ("127.0.0.1:*", "localhost:*", "[::1]:*")


class McpEndpoint:
    """The endpoint and the SDK's session manager behind it.

    Args:
        tokens: whether callers send tokens; if not, only loopback names are served.
        progress: seconds between two progress notifications.
    """

    def __init__(
        self,
        service: Service,
        callers: Callers,
        *,
        tokens: bool,
        progress: float = PROGRESS_INTERVAL,
    ) -> None:
        self._service = service
        self._callers = callers
        self._calls = CancellableCalls()
        self._manager = StreamableHTTPSessionManager(
            build_mcp_server(
                self._backend_of, offered=_offered, scope_of=_scope_of, progress=progress
            ),
            stateless=True,
            json_response=False,
            max_request_body_size=MAX_BODY,
            security_settings=TransportSecuritySettings(
                enable_dns_rebinding_protection=not tokens,
                allowed_hosts=list(_LOOPBACK),
                allowed_origins=[f"http://{host}" for host in _LOOPBACK],
            ),
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve until the context exits."""
        started, stop = asyncio.Event(), asyncio.Event()

        async def run() -> None:
            # In a separate task, because the SDK must be exited in the task that entered it.
            async with self._manager.run():
                started.set()
                await stop.wait()

        task = asyncio.create_task(run(), name="mcp")
        starting = asyncio.create_task(started.wait())
        await asyncio.wait({task, starting}, return_when=asyncio.FIRST_COMPLETED)
        starting.cancel()
        try:
            yield
        finally:
            stop.set()
            await task

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Handle a request."""
        agent = self._callers.agent(request)
        try:
            offered = parse_asking_tools(request.query.get("tools"))
        except ValueError as error:
            raise ProblemError(400, "Bad query", f"tools: {error}") from error
        body = await read_body(request)
        message = _read_message(body)
        params = message.get("params")
        session, name = request.headers.get(SESSION_HEADER), agent.name if agent else None
        if message.get("method") == CANCELLED and isinstance(params, dict):
            await self._calls.cancel(call_key(name, session, params.get("requestId")))
        call = CancellableCall(request.get(RESPONSE_TRACKER))
        exchange = _Exchange(self._manager, request, agent, offered, body, call)
        if message.get("method") == "initialize":
            exchange.new_session = new_session_id(params)
        with self._calls.track(call_key(name, session, message.get("id")), call):
            return await exchange.get_response()

    def _backend_of(self, ctx: Context) -> AskBackend:
        request = ctx.request
        scope = request.scope if isinstance(request, Request) else {}
        tracker = scope[_CALL].tracker if _CALL in scope else None
        return ServiceBackend(self._service, self._callers, scope.get(_AGENT), tracker)


def _offered(ctx: Context) -> Sequence[AskingTool]:
    request = ctx.request
    offered: Sequence[AskingTool] = (
        request.scope[_OFFERED] if isinstance(request, Request) else DEFAULT_TOOLS
    )
    return offered


def _scope_of(ctx: Context) -> anyio.CancelScope:
    request = ctx.request
    call: CancellableCall | None = request.scope[_CALL] if isinstance(request, Request) else None
    return anyio.CancelScope() if call is None else call.scope


def _read_message(body: bytes) -> dict[str, JsonValue]:
    """The message in a body; empty if there is none, which the SDK then reports."""
    try:
        message = parse_json(body)
    except ProblemError:
        return {}
    return message if isinstance(message, dict) else {}


class _Exchange(ASGIContext):
    """One request as ASGI, with its agent, tools and call in the scope."""

    def __init__(
        self,
        manager: StreamableHTTPSessionManager,
        request: web.Request,
        agent: Agent | None,
        offered: Sequence[AskingTool],
        body: bytes,
        call: CancellableCall,
    ) -> None:
        super().__init__(manager.asgi_app, request, "/")
        self._agent = agent
        self._offered = offered
        self._call = call
        self._body: bytes | None = body
        self.new_session: str | None = None
        """The id of the session that the response starts."""

    @property
    def scope(self) -> ScopeDict:
        """The ASGI scope."""
        scope = super().scope
        scope[_AGENT] = self._agent  # type: ignore[typeddict-unknown-key] # servers may add keys
        scope[_OFFERED] = self._offered  # type: ignore[typeddict-unknown-key]
        scope[_CALL] = self._call  # type: ignore[typeddict-unknown-key]
        return scope

    async def on_send_response_start(self, payload: dict[str, Any]) -> None:
        """Start the response, with the id of a new session."""
        if self.new_session is not None:
            header = (SESSION_HEADER.lower().encode(), self.new_session.encode())
            payload = {**payload, "headers": [*payload.get("headers", ()), header]}
        await super().on_send_response_start(payload)

    async def on_send_http_response_body(self, payload: dict[str, Any]) -> None:
        """Send part of the streamed response; once the result is sent, the client may disconnect."""
        await super().on_send_http_response_body(payload)
        if self._call.tracker is not None:
            await self._call.tracker.finish_stream()

    async def on_receive(self) -> dict[str, object]:
        """Return the body once, then block: aiohttp cancels the handler when its client disconnects."""
        if self._body is None:
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}
