"""Sockets that are bound before anything is started: an address that is taken is found out at once, in words."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from aiohttp import web

from answerback.core.errors import ConfigError
from answerback.http.response_arrival import ARRIVAL_TRACKER
from answerback.http.unverified_connections import UNVERIFIED_CONNECTIONS, UnverifiedConnections

BACKLOG: Final = 1024
"""Connections that may wait to be accepted: agents come back all at once after a restart."""
_IDLE: Final = 75.0
"""Seconds for which a connection of the agents' listener may be silent, or take to send a request's head."""
_LINGERING: Final = 1.0
"""Seconds for which the rest of a refused body is read, so that a stranger may see the refusal."""
_FIELD: Final = 8_190
_FIELDS: Final = 64
SHUTDOWN_TIMEOUT: Final = 5.0
"""Seconds that answers under way have to be finished when the process ends."""


async def bind_socket(host: str, port: int, key: str) -> socket.socket:
    """A socket bound to an address; port 0 takes a free one.

    Args:
        key: the configuration's table, for the words of an error.

    Raises:
        ConfigError: the address cannot be had.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        return _listening(socket.socket(family, kind, protocol), address)
    except OSError as error:
        raise ConfigError(_sentence(error, host, port, key)) from error


def _listening(made: socket.socket, address: Any) -> socket.socket:  # as the system writes it
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        # Listening at once: until then another process could bind the same address.
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    made.setblocking(False)
    return made


def socket_url(bound: socket.socket) -> str:
    """The address of a bound socket, as a URL."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


RefuseRequest = Callable[[web.BaseRequest], web.Response | None]


async def serve_app(
    app: web.Application, bound: socket.socket, refuse: RefuseRequest = lambda _request: None
) -> web.AppRunner:
    """Serves an application on a bound socket; the runner's ``cleanup`` ends that.

    Args:
        refuse: the answer to a request that no route is to see.
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
    strangers: UnverifiedConnections,
) -> AsyncIterator[None]:
    """Serves an application on a bound socket that anybody may reach, within the bounds of `UnverifiedConnections`."""
    app[UNVERIFIED_CONNECTIONS] = strangers
    runner, server = await _runner(
        app, refuse, lingering_time=_LINGERING, max_field_size=_FIELD, max_headers=_FIELDS
    )
    accepting = asyncio.create_task(strangers.accept(bound, server), name="accept")
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
        auto_decompress=False,  # bodies are unpacked where they are read: `answerback.http.request_body`
        **options,
    )
    await runner.setup()
    server = runner.server
    if server is None:
        raise AssertionError("a runner that is set up has a server")
    inner = server.request_handler

    def handle(request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        refusal = refuse(request)
        return inner(request) if refusal is None else _refused(refusal)

    server.request_handler = handle
    return runner, server


async def _refused(refusal: web.Response) -> web.StreamResponse:
    return refusal


def _sentence(error: OSError, host: str, port: int, key: str) -> str:
    variable = f"ANSWERBACK_{key.upper()}__PORT"
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is in use, perhaps by another Answerback: stop that, or choose "
            f"another port with {key}.port or {variable} (0 takes a free one)."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} is reserved for root: choose one above 1023 with {key}.port or {variable}."
    return f"{key}.host {host} cannot be bound: {error.strerror}."
