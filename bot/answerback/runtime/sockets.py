"""Bind sockets before anything is started, so that an address in use is reported at once; serve on them; and call chat
platforms."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from aiohttp import web
from pydantic_core import to_json

from answerback.core.errors import ConfigError
from answerback.http.response_arrival import ARRIVAL_TRACKER
from answerback.http.unverified_connections import UNVERIFIED_CONNECTIONS, UnverifiedConnections
from answerback.runtime.config import Settings, listener_url

BACKLOG: Final = 1024
"""Maximum connections waiting to be accepted: after a restart, all agents reconnect at once."""
_IDLE: Final = 75.0
"""Seconds that an agent's connection may be idle, or take to send a request's headers."""
_LINGERING: Final = 1.0
"""Seconds to keep reading the rest of a refused body, so that the sender can read the refusal."""
_MAX_HEADER_SIZE: Final = 8_190
_MAX_HEADERS: Final = 64
SHUTDOWN_TIMEOUT: Final = 5.0
"""Seconds that requests in progress have to finish when the process stops."""


async def bind_socket(host: str, port: int, key: str) -> socket.socket:
    """Bind a socket to an address; port 0 takes a free port.

    Args:
        key: the configuration's table, for error messages.

    Raises:
        ConfigError: the address cannot be bound.
    """
    loop = asyncio.get_running_loop()
    try:
        addresses = await loop.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, address = addresses[0]
        return _listen(socket.socket(family, kind, protocol), address)
    except OSError as error:
        raise ConfigError(_bind_error_message(error, host, port, key)) from error


def _listen(bound: socket.socket, address: Any) -> socket.socket:  # as the system writes it
    try:
        # Otherwise a restart would have to wait until the system has forgotten the old connections.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        # Listen at once: until then, another process could bind the same address.
        bound.listen(BACKLOG)
    except OSError:
        bound.close()
        raise
    bound.setblocking(False)
    return bound


def socket_url(bound: socket.socket) -> str:
    """The URL of a bound socket on this machine."""
    host, port = bound.getsockname()[:2]
    return listener_url(host, port)


RefuseRequest = Callable[[web.BaseRequest], web.Response | None]


async def serve_app(
    app: web.Application, bound: socket.socket, refuse: RefuseRequest = lambda _request: None
) -> web.AppRunner:
    """Serve an application on a bound socket, until the runner's ``cleanup``.

    Args:
        refuse: returns the response to a request that must not reach any route, or None.
    """
    runner, server = await _runner(app, refuse, keepalive_timeout=_IDLE)
    if ARRIVAL_TRACKER in app:
        app[ARRIVAL_TRACKER].attach(server)
    await web.SockSite(runner, bound, backlog=BACKLOG).start()
    return runner


@asynccontextmanager
async def serve_public(
    app: web.Application,
    bound: socket.socket,
    refuse: RefuseRequest,
    connections: UnverifiedConnections,
) -> AsyncIterator[None]:
    """Serve an application on a public socket, within the limits of `UnverifiedConnections`."""
    app[UNVERIFIED_CONNECTIONS] = connections
    runner, server = await _runner(
        app,
        refuse,
        lingering_time=_LINGERING,
        max_field_size=_MAX_HEADER_SIZE,
        max_headers=_MAX_HEADERS,
    )
    accepting = asyncio.create_task(connections.accept(bound, server), name="accept")
    try:
        yield
    finally:
        accepting.cancel()
        await asyncio.gather(accepting, return_exceptions=True)
        await runner.cleanup()


async def _runner(
    app: web.Application, refuse: RefuseRequest, **options: Any
) -> tuple[web.AppRunner, web.Server]:
    runner = web.AppRunner(
        app,
        handler_cancellation=True,
        access_log=None,
        shutdown_timeout=SHUTDOWN_TIMEOUT,
        auto_decompress=False,  # `answerback.http.request_body` decompresses bodies
        **options,
    )
    await runner.setup()
    server = runner.server
    if server is None:
        raise AssertionError("a runner has a server after setup")
    inner = server.request_handler

    def handle(request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        refusal = refuse(request)
        return inner(request) if refusal is None else _return_response(refusal)

    server.request_handler = handle
    return runner, server


async def _return_response(refusal: web.Response) -> web.StreamResponse:
    return refusal


def _bind_error_message(error: OSError, host: str, port: int, key: str) -> str:
    variable = f"ANSWERBACK_{key.upper()}__PORT"
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is in use, perhaps by another Answerback: stop it, or choose "
            f"another port with {key}.port or {variable} (0 takes a free one)."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} is reserved for root: choose one above 1023 with {key}.port or {variable}."
    return f"{key}.host {host} cannot be bound: {error.strerror}."


@dataclass(frozen=True, slots=True)
class BoundSockets:
    """The bound listeners, and the URLs at which others reach them."""

    api: socket.socket
    public: socket.socket | None
    api_url: str
    public_url: str | None

    @property
    def address(self) -> str:
        """The address at which people reach the service."""
        return self.public_url or self.api_url


async def bind_sockets(settings: Settings, stack: AsyncExitStack) -> BoundSockets:
    """Bind the configured listeners, until the stack closes."""
    api = await bind_socket(settings.server.host, settings.server.port, "server")
    stack.callback(api.close)
    if settings.public.port is None:
        return BoundSockets(api, None, socket_url(api), None)
    public = await bind_socket(settings.public.host, settings.public.port, "public")
    stack.callback(public.close)
    return BoundSockets(api, public, socket_url(api), settings.public.url or socket_url(public))


def chat_http_session() -> aiohttp.ClientSession:
    """Create the chat surfaces' HTTP session. It has no connection limit, so hanging calls do not delay clicks."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        json_serialize=_as_json,
        cookie_jar=aiohttp.DummyCookieJar(),  # each call is authenticated by its token
    )


def _as_json(value: object) -> str:
    """Serialise with pydantic, three times as fast as the standard library, the fallback for lone surrogates."""
    try:
        return to_json(value).decode()
    except ValueError:
        return json.dumps(value)
