"""Bind sockets before anything is started, so that an address in use is reported at once; serve on them; and call chat
platforms."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
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
_OTHER_LOOPBACK: Final = {"127.0.0.1": "::1", "0.0.0.0": "::1", "::1": "127.0.0.1"}
"""The address that ``localhost`` also stands for, by the one that is bound. ``::`` accepts both."""
_NO_SUCH_ADDRESS: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""The errors on a machine without IPv6: no program can have that address there."""
_FREE_PORT_ATTEMPTS: Final = 20
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


async def bind_listener(host: str, port: int, key: str) -> tuple[socket.socket, ...]:
    """Bind a listener's address and, where browsers reach it as ``localhost``, that name's other address.

    Browsers prefer ``::1`` for ``localhost``, so another program there would be taken for the service
    (https://www.rfc-editor.org/rfc/rfc6761#section-6.3).

    Raises:
        ConfigError: an address cannot be bound.
    """
    for attempt in range(_FREE_PORT_ATTEMPTS):
        bound = await bind_socket(host, port, key)
        other = _OTHER_LOOPBACK.get(bound.getsockname()[0])
        if other is None:
            return (bound,)
        taken = bound.getsockname()[1]
        try:
            return (bound, _bind_beside(other, taken))
        except OSError as error:
            if error.errno in _NO_SUCH_ADDRESS:
                return (bound,)
            bound.close()
            if port != 0 or attempt + 1 == _FREE_PORT_ATTEMPTS:
                raise ConfigError(_bind_error_message(error, other, taken, key)) from error
    raise AssertionError("the last attempt returns or raises")


def _bind_beside(host: str, port: int) -> socket.socket:
    if ":" not in host:
        return _listen(socket.socket(socket.AF_INET), (host, port))
    bound = socket.socket(socket.AF_INET6)
    bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    return _listen(bound, (host, port))


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
BindListener = Callable[[str, int, str], Awaitable[tuple[socket.socket, ...]]]
"""`bind_listener`, or what takes its place."""


@dataclass(frozen=True, slots=True)
class Listener:
    """An application that is served on sockets."""

    runner: web.AppRunner
    sockets: Sequence[socket.socket]
    accepting: Sequence[asyncio.Task[None]]

    async def cleanup(self) -> None:
        """Close the sockets, and finish the requests in progress."""
        for task in self.accepting:
            task.cancel()
        await asyncio.gather(*self.accepting, return_exceptions=True)
        for each in self.sockets:
            each.close()
        await self.runner.cleanup()


async def serve_app(
    app: web.Application,
    sockets: Sequence[socket.socket],
    connections: UnverifiedConnections,
    refuse: RefuseRequest = lambda _request: None,
) -> Listener:
    """Serve the agents' application on bound sockets, until the listener's ``cleanup``.

    Args:
        refuse: returns the response to a request that must not reach any route, or None.
    """
    return await _serve(app, sockets, connections, refuse, keepalive_timeout=_IDLE)


@asynccontextmanager
async def serve_public(
    app: web.Application,
    sockets: Sequence[socket.socket],
    refuse: RefuseRequest,
    connections: UnverifiedConnections,
) -> AsyncIterator[None]:
    """Serve an application on public sockets, with small limits for what a request may state."""
    listener = await _serve(
        app,
        sockets,
        connections,
        refuse,
        lingering_time=_LINGERING,
        max_field_size=_MAX_HEADER_SIZE,
        max_headers=_MAX_HEADERS,
    )
    try:
        yield
    finally:
        await listener.cleanup()


async def _serve(
    app: web.Application,
    sockets: Sequence[socket.socket],
    connections: UnverifiedConnections,
    refuse: RefuseRequest,
    **options: Any,
) -> Listener:
    app[UNVERIFIED_CONNECTIONS] = connections
    runner, serve = await _runner(app, refuse, **options)
    if ARRIVAL_TRACKER in app:
        serve = app[ARRIVAL_TRACKER].following(serve)
    accepting = [
        asyncio.create_task(connections.accept(each, serve), name="accept") for each in sockets
    ]
    return Listener(runner, sockets, accepting)


async def _runner(
    app: web.Application, refuse: RefuseRequest, **options: Any
) -> tuple[web.AppRunner, Callable[[], asyncio.Protocol]]:
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

    api: tuple[socket.socket, ...]
    public: tuple[socket.socket, ...]
    """Empty if there is no public listener."""
    api_url: str
    public_url: str | None

    @property
    def address(self) -> str:
        """The address at which people reach the service."""
        return self.public_url or self.api_url


async def bind_sockets(
    settings: Settings, stack: AsyncExitStack, bind: BindListener = bind_listener
) -> BoundSockets:
    """Bind the configured listeners, until the stack closes."""
    api = await bind(settings.server.host, settings.server.port, "server")
    for each in api:
        stack.callback(each.close)
    if settings.public.port is None:
        return BoundSockets(api, (), socket_url(api[0]), None)
    public = await bind(settings.public.host, settings.public.port, "public")
    for each in public:
        stack.callback(each.close)
    public_url = settings.public.url or socket_url(public[0])
    return BoundSockets(api, public, socket_url(api[0]), public_url)


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
