"""The MCP server at ``/mcp``: streamable HTTP without sessions, with the official SDK, inside aiohttp.

Requests are independent of each other, so that clients survive a restart of the service: a session's id only says which
client cancels which call. Responses are event streams, because otherwise we would not notice that a client has
disconnected.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from aiohttp import web
from aiohttp_asgi.resource import ASGIContext, ScopeDict
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request

from answerback.core.errors import ProblemError
from answerback.core.urgency import Urgency
from answerback.mcp.backend import AskBackend
from answerback.mcp.cancellation import (
    CANCELLED,
    SESSION_HEADER,
    CancellableCall,
    CancellableCalls,
    call_key,
    client_name_in,
    new_session_id,
)
from answerback.mcp.messages import read_message
from answerback.mcp.server import PROGRESS_INTERVAL, CallOptions, build_mcp_server
from answerback.mcp.tasks import Context
from answerback.mcp.tools import DEFAULT_WAIT, AskingTool, parse_asking_tools, parse_wait
from answerback.service.agent_requests import RESPONSE_TRACKER, Callers, parse_query, read_body
from answerback.service.service import Service
from answerback.service.submission_request import Agent
from answerback_base.strict_json import MAX_BODY

_REQUEST: Final = "answerback.request"
T = TypeVar("T")
_LOOPBACK: Final = ("127.0.0.1:*", "localhost:*", "[::1]:*")


class _Query(BaseModel):
    """The query of the URL in a client's configuration."""

    model_config = ConfigDict(extra="forbid")

    tools: str | None = None
    wait: str | None = None
    to: str | None = None
    urgency: Urgency | None = None


@dataclass(frozen=True, slots=True)
class _Request:
    """The facts about a request that its handlers need."""

    agent: Agent | None
    tools: Sequence[AskingTool]
    wait: float
    to: str | None
    urgency: Urgency | None
    call: CancellableCall


@dataclass(eq=False)
class McpEndpoint:
    """The endpoint and the SDK's session manager behind it."""

    service: Service
    callers: Callers
    tokens: bool
    """True if callers send tokens; if not, only loopback names are served."""
    wait: float = DEFAULT_WAIT
    """Maximum seconds that a call waits, if its URL does not say."""
    progress: float = PROGRESS_INTERVAL
    """Seconds between two progress notifications."""

    def __post_init__(self) -> None:
        self._calls = CancellableCalls(self.service.store.changes)
        self._manager = StreamableHTTPSessionManager(
            build_mcp_server(self._backend_of, options_of=_options_of, progress=self.progress),
            stateless=True,
            json_response=False,
            max_request_body_size=MAX_BODY,
            security_settings=TransportSecuritySettings(
                enable_dns_rebinding_protection=not self.tokens,
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
        agent = await self.callers.agent(request)
        query = parse_query(_Query, request)
        offered = _parse("tools", parse_asking_tools, query.tools)
        wait = _parse("wait", parse_wait, query.wait)
        body = await read_body(request)
        message = read_message(body)
        params = message.get("params")
        session, name = request.headers.get(SESSION_HEADER), agent.name if agent else None
        if message.get("method") == CANCELLED and isinstance(params, dict):
            await self._calls.cancel(call_key(name, session, params.get("requestId")))
        call = CancellableCall(request.get(RESPONSE_TRACKER))
        handled = _Request(
            agent, offered, self.wait if wait is None else wait, query.to, query.urgency, call
        )
        exchange = _Exchange(self._manager, request, handled, body)
        if message.get("method") == "initialize":
            exchange.new_session = new_session_id(params)
        with self._calls.track(call_key(name, session, message.get("id")), call):
            return await exchange.get_response()

    def _backend_of(self, ctx: Context) -> AskBackend:
        handled = _handled(ctx)
        return AskBackend(self.service, self.callers, handled.agent, handled.call.tracker)


def _handled(ctx: Context) -> _Request:
    assert isinstance(ctx.request, Request)
    handled: _Request = ctx.request.scope[_REQUEST]
    return handled


def _options_of(ctx: Context) -> CallOptions:
    handled = _handled(ctx)
    return CallOptions(
        handled.tools,
        handled.wait,
        handled.to,
        handled.urgency,
        _caller(ctx),
        handled.call.scope,
    )


def _caller(ctx: Context) -> str | None:
    """The client's address and name, if it has said its name: when it connected, or with this request."""
    request, params = ctx.request, ctx.session.client_params
    assert isinstance(request, Request)
    session = request.headers.get(SESSION_HEADER)
    name = params.client_info.name if params is not None else client_name_in(session)
    return None if not name or request.client is None else f"{request.client.host} {name[:100]}"


def _parse(name: str, parse: Callable[[str | None], T], value: str | None) -> T:
    """Parse a parameter of the URL.

    Raises:
        ProblemError: 400.
    """
    try:
        return parse(value)
    except ValueError as error:
        raise ProblemError(400, "Bad query", f"{name}: {error}") from error


class _Exchange(ASGIContext):
    def __init__(
        self,
        manager: StreamableHTTPSessionManager,
        request: web.Request,
        handled: _Request,
        body: bytes,
    ) -> None:
        super().__init__(manager.asgi_app, request, "/")
        self._handled = handled
        self._body: bytes | None = body
        self.new_session: str | None = None
        """The id of the session that the response starts."""

    @property
    def scope(self) -> ScopeDict:
        scope = super().scope
        scope[_REQUEST] = self._handled  # type: ignore[typeddict-unknown-key] # servers may add keys
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
        if (tracker := self._handled.call.tracker) is not None:
            await tracker.finish_stream()

    async def on_receive(self) -> dict[str, object]:
        """Return the body once, then block: aiohttp cancels the handler when its client disconnects."""
        if self._body is None:
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}
