"""Unverified connections: limited in number and time, and never at the expense of verified ones."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import StreamReader, web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.test_utils import make_mocked_request

from answerback.api.problems import refuse_unsupported
from answerback.http.request_body import BodyError, BodyMemoryBudget, BodyReader, receive_body
from answerback.http.unverified_connections import (
    MAX_PUBLIC_CONNECTIONS,
    UnverifiedConnections,
    mark_request_verified,
    public_connection_limit,
)
from answerback.runtime.sockets import bind_socket, serve_public
from tests.service_support import WAIT

Connect = Callable[..., Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
SIGNED = b"POST /signed HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
UNSIGNED = b"GET /unsigned HTTP/1.1\r\nHost: x\r\n\r\n"


async def signed(request: web.Request) -> web.Response:
    mark_request_verified(request)
    return web.Response(text="known")


async def unsigned(_request: web.Request) -> web.Response:
    return web.Response(text="stranger")


def site() -> web.Application:
    """One endpoint that verifies, one that does not, and one that accepts a body of a megabyte."""
    bodies = BodyReader(2**20)

    async def body(request: web.Request) -> web.Response:
        read = await bodies.read(request)
        return read if isinstance(read, web.Response) else web.Response(text=str(len(read)))

    app = web.Application()
    app.add_routes(
        [web.post("/signed", signed), web.get("/unsigned", unsigned), web.post("/body", body)]
    )
    return app


@contextlib.asynccontextmanager
async def serving(most: int, seconds: float) -> AsyncIterator[tuple[Connect, list[Any]]]:
    """A public listener, and the clients connected to it."""
    opened: list[asyncio.StreamWriter] = []
    with await bind_socket("127.0.0.1", 0, "public") as bound:
        port = bound.getsockname()[1]

        async def connect(
            sent: bytes = b"", source: str = "127.0.0.1"
        ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, local_addr=(source, 0)
            )
            opened.append(writer)
            writer.write(sent)
            return reader, writer

        async with serve_public(
            site(), [bound], refuse_unsupported, UnverifiedConnections(most, seconds)
        ):
            yield connect, opened
            for writer in opened:
                await close(writer)


async def close(writer: asyncio.StreamWriter) -> None:
    """Close a connection."""
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def read_to_end(reader: asyncio.StreamReader) -> bytes:
    """Read until the connection is closed."""
    async with asyncio.timeout(WAIT):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""


async def read_response(reader: asyncio.StreamReader) -> bytes:
    """Read a whole response, and return its status line."""
    async with asyncio.timeout(WAIT):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        return head.split(b"\r\n")[0]


@pytest.mark.rule("DATA-11")
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /signed HT",
        b"POST /signed HTTP/1.1\r\nHost: x\r\nX-A",
        b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf",
        b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf",
        UNSIGNED,
    ],
)
async def test_a_connection_on_which_nothing_is_verified_is_closed(sent: bytes) -> None:
    async with serving(10, 0.3) as (connect, _):
        reader, _ = await connect(sent)
        await read_to_end(reader)


@pytest.mark.rule("DATA-11")
async def test_a_client_that_sends_slowly_is_disconnected_too() -> None:
    async with serving(10, 0.3) as (connect, _):
        reader, writer = await connect(b"POST /signed HTTP/1.1\r\nX: ")
        closed = asyncio.create_task(read_to_end(reader))
        async with asyncio.timeout(WAIT):
            while not closed.done():
                writer.write(b"x")
                await asyncio.wait({closed}, timeout=0.02)


async def test_a_verified_connection_stays_open() -> None:
    async with serving(10, 1.0) as (connect, _):
        reader, writer = await connect(SIGNED)
        assert await read_response(reader) == b"HTTP/1.1 200 OK"
        stranger, _ = await connect()
        await read_to_end(stranger)  # the time limit of both has passed
        writer.write(SIGNED)
        assert await read_response(reader) == b"HTTP/1.1 200 OK"


async def test_when_there_are_too_many_the_oldest_unverified_connection_is_closed() -> None:
    async with serving(3, 60) as (connect, _):
        regular, writer = await connect(SIGNED)
        await read_response(regular)
        strangers = []
        for _ in range(4):
            reader, stranger = await connect(UNSIGNED)
            assert await read_response(reader) == b"HTTP/1.1 200 OK"
            strangers.append((reader, stranger))
        assert [await read_to_end(reader) for reader, _ in strangers[:2]] == [b"", b""]
        for reader, stranger in strangers[2:]:
            stranger.write(UNSIGNED)
            assert await read_response(reader) == b"HTTP/1.1 200 OK"
        writer.write(SIGNED)
        assert await read_response(regular) == b"HTTP/1.1 200 OK"


@pytest.mark.rule("DATA-11")
async def test_one_address_with_many_connections_does_not_displace_others() -> None:
    async with serving(4, 60) as (connect, _):
        quiet, writer = await connect(UNSIGNED, "127.0.0.2")
        await read_response(quiet)
        for _ in range(20):
            reader, _ = await connect(UNSIGNED)
            await read_response(reader)
        writer.write(UNSIGNED)
        assert await read_response(quiet) == b"HTTP/1.1 200 OK"


async def test_if_all_are_verified_the_oldest_is_closed() -> None:
    async with serving(2, 60) as (connect, _):
        readers = []
        for _ in range(3):
            reader, _ = await connect(SIGNED)
            assert await read_response(reader) == b"HTTP/1.1 200 OK"
            readers.append(reader)
        assert await read_to_end(readers[0]) == b""


async def test_a_connection_that_closes_at_once_does_no_harm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    connect_accepted = loop.connect_accepted_socket
    lost: list[Any] = []

    async def vanished(*args: Any, **options: Any) -> Any:
        if not lost:
            lost.append(args)
            raise OSError("Transport endpoint is not connected")
        return await connect_accepted(*args, **options)

    monkeypatch.setattr(loop, "connect_accepted_socket", vanished)
    async with serving(10, 60) as (connect, _):
        first, _ = await connect(UNSIGNED)
        assert await read_to_end(first) == b""
        second, _ = await connect(UNSIGNED)
        assert await read_response(second) == b"HTTP/1.1 200 OK"


async def test_without_free_descriptors_accepting_resumes_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loop = asyncio.get_running_loop()
    accept = loop.sock_accept
    refused: list[socket.socket] = []

    async def full(bound: socket.socket) -> Any:
        if not refused:
            refused.append(bound)
            raise OSError(24, "Too many open files")
        return await accept(bound)

    monkeypatch.setattr(loop, "sock_accept", full)
    async with serving(10, 60) as (connect, _):
        reader, _ = await connect(UNSIGNED)
        assert await read_response(reader) == b"HTTP/1.1 200 OK"
    assert "Too many open files" in caplog.text


@pytest.mark.rule("DATA-11")
def test_the_public_listener_gets_a_third_of_the_descriptors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for soft, most in (
        (1_024, 341),
        (65_536, MAX_PUBLIC_CONNECTIONS),
        (2, 1),
        (resource.RLIM_INFINITY, MAX_PUBLIC_CONNECTIONS),
    ):
        limits = (soft, soft)
        monkeypatch.setattr(resource, "getrlimit", lambda _what, limits=limits: limits)
        assert public_connection_limit() == most


# --- bodies --------------------------------------------------------------------------------------


@pytest.mark.rule("DATA-11")
async def test_four_hundred_unfinished_bodies_stay_within_the_memory_budget() -> None:
    def resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    head = b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
    before = resident()
    async with serving(1_000, 60) as (connect, opened):
        async with asyncio.timeout(2 * WAIT):
            for _ in range(400):
                _, writer = await connect(head)
                with contextlib.suppress(ConnectionError):
                    for _ in range(9):
                        writer.write(b"x" * 100_000)
                        await asyncio.wait_for(writer.drain(), WAIT)
        assert resident() - before < 150 * 2**20
        reader, _ = await connect(
            b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n" + b"x" * 50_000
        )
        assert await read_response(reader) == b"HTTP/1.1 200 OK"
        assert len(opened) == 401


@pytest.fixture
async def body_port() -> AsyncIterator[int]:
    """The port of a listener that limits bodies to a kilobyte, and to the seconds in the address."""

    async def take(request: web.Request) -> web.Response:
        seconds = float(request.query["seconds"])
        try:
            read = await receive_body(
                request, 1024, compressed=True, pool=BodyMemoryBudget(0), seconds=seconds
            )
        except BodyError as error:
            return web.Response(status=error.status, text=str(error))
        return web.Response(text=str(len(read)))

    app = web.Application()
    app.add_routes([web.post("/", take)])
    with await bind_socket("127.0.0.1", 0, "public") as bound:
        async with serve_public(app, [bound], refuse_unsupported, UnverifiedConnections(10, 60)):
            yield bound.getsockname()[1]


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        (b"Content-Length: 3", b"abc", 200),
        (b"Transfer-Encoding: chunked", b"3\r\nabc\r\n0\r\n\r\n", 200),
        (b"Content-Length: 3", b"ab", 408),
        (b"Content-Length: 2000", b"", 413),
        (b"Transfer-Encoding: chunked", b"5dc\r\n" + b"x" * 1500 + b"\r\n", 413),
        (b"Transfer-Encoding: chunked", b"3\r\nabc\r\nzz\r\n", 400),
        (b"Content-Length: 3\r\nContent-Encoding: gzip", b"abc", 400),
        (b"Content-Length: 0\r\nContent-Encoding: deflate", b"", 400),
        (b"Content-Length: 3\r\nContent-Encoding: br", b"abc", 415),
        (b"Content-Length: 3\r\nContent-Encoding: \xff", b"abc", 415),
        (b"Content-Length: 3\r\nExpect: \xff", b"abc", 417),
    ],
)
async def test_a_body_is_accepted_or_refused_in_time(
    body_port: int, headers: bytes, body: bytes, status: int
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", body_port)
    seconds = b"0.3" if status == 408 else b"60"
    writer.write(
        b"POST /?seconds=" + seconds + b" HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n\r\n" + body
    )
    assert b" %d " % status in await read_response(reader)
    await close(writer)


async def test_a_truncated_body_is_400() -> None:
    protocol = BaseProtocol(asyncio.get_running_loop())
    broken = StreamReader(protocol, 2**16, loop=asyncio.get_running_loop())
    broken.set_exception(web.RequestPayloadError("no chunk size"))
    request = make_mocked_request("POST", "/", payload=broken)
    with pytest.raises(BodyError) as refused:
        await receive_body(request, 1024)
    assert refused.value.status == 400


def test_a_closed_connection_cannot_be_verified() -> None:
    UnverifiedConnections(1).mark_verified(None)
