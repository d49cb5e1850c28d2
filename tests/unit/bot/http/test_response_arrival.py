"""Tell from the system's state of its connection if a response arrived."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest
from aiohttp import web

from answerback.http import response_arrival
from answerback.http.response_arrival import (
    ArrivalTracker,
    AwaitedAcknowledgement,
    ResponseArrival,
    is_acknowledged,
)
from tests.service_support import WAIT


class Request:
    """A minimal request for tracking the arrival of its response."""

    def __init__(self, transport: asyncio.WriteTransport | None) -> None:
        self.transport = transport


def request_on(transport: asyncio.WriteTransport | None) -> web.BaseRequest:
    """A request on the given connection; None: on a lost one."""
    return cast("web.BaseRequest", Request(transport))


@pytest.fixture
async def connection() -> AsyncIterator[asyncio.StreamWriter]:
    """A connection to a client that reads nothing."""
    accepted: asyncio.Future[asyncio.StreamWriter] = asyncio.get_running_loop().create_future()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set_result(writer)
        await reader.read()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server, asyncio.timeout(WAIT):
        reader, client = await asyncio.open_connection(*server.sockets[0].getsockname())
        reader._transport.pause_reading()  # type: ignore[attr-defined]  # streams have no way to
        served = await accepted
        yield served
        served.transport.abort()
        client.transport.abort()


async def test_a_response_that_stays_unread_times_out(
    connection: asyncio.StreamWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_arrival, "RECEIVE_TIMEOUT", 0.0)
    connection.write(bytes(64 * 1024 * 1024))
    arrival = ResponseArrival(request_on(connection.transport), lambda: None)
    assert not await arrival.wait_until_received()
    assert arrival.is_read is None, "it may still arrive"


async def test_data_on_a_closed_connection_counts_as_unacknowledged(
    connection: asyncio.StreamWriter,
) -> None:
    connection.transport.abort()
    closed = connection.get_extra_info("socket")
    while closed.fileno() >= 0:  # noqa: ASYNC110 there is no notification
        await asyncio.sleep(0)
    assert not is_acknowledged(connection.transport)


async def test_a_response_is_lost_if_its_connection_closed_before_it_was_sent() -> None:
    watching = ArrivalTracker()
    arrival = watching.track(request_on(None), lambda: None)
    assert arrival.is_read is False
    assert not await arrival.wait_until_received()
    assert not watching._tracked


@pytest.mark.rule("LATE-12")
async def test_an_acknowledgement_is_awaited_only_for_a_while() -> None:
    given_up = asyncio.Event()
    AwaitedAcknowledgement(given_up.set, seconds=0.0)
    async with asyncio.timeout(WAIT):
        await given_up.wait()


@pytest.mark.rule("LATE-12")
async def test_nothing_is_awaited_from_a_connection_that_closed_before_the_response() -> None:
    given_up = asyncio.Event()
    ArrivalTracker().await_acknowledgement(request_on(None), given_up.set)
    assert given_up.is_set()
