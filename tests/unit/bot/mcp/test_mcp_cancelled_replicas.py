"""A cancellation over MCP that reaches another replica than the one that holds the call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.ports.surface import Acted
from answerback.runtime.app import run_service
from answerback.runtime.config import ServerSettings, StorageSettings, settings_type
from tests.service_support import WAIT, actor
from tests.unit.bot.agent_support import Served
from tests.unit.bot.mcp.test_late_answers_mcp import check
from tests.unit.bot.mcp.test_mcp import GO, client
from tests.unit.bot.mcp.test_mcp_cancelled_calls import RawClient, events_of


@pytest.fixture
async def replicas(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[list[Served]]:
    """Two services on one database."""
    monkeypatch.chdir(tmp_path)
    settings = settings_type().model_construct(
        server=ServerSettings(port=0), storage=StorageSettings(url=database)
    )
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(aiohttp.ClientSession())
        running = [await stack.enter_async_context(run_service(settings)) for _ in range(2)]
        yield [Served(each, http, {}, {}) for each in running]


async def answer(replica: Served, ask: Ask) -> None:
    done = await replica.running.service.act(ask.id, Answer(value=True), actor(surface="web"))
    assert isinstance(done, Acted)


class LoadBalancer(httpx2.AsyncBaseTransport):
    """Sends cancellations to another replica than everything else."""

    def __init__(self, other: Served) -> None:
        self._other = httpx2.URL(other.url)
        self._real = httpx2.AsyncHTTPTransport(verify=False)
        self.cancelled = asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        message = json.loads(await request.aread() or b"{}")
        cancels = message.get("method") == "notifications/cancelled"
        if cancels:
            request.url = request.url.copy_with(port=self._other.port)
            request.headers["Host"] = f"{self._other.host}:{self._other.port}"
        response = await self._real.handle_async_request(request)
        if cancels:
            self.cancelled.set()
        return response

    async def aclose(self) -> None:
        await self._real.aclose()


@asynccontextmanager
async def balanced(one: Served, other: Served) -> AsyncIterator[tuple[Client, LoadBalancer]]:
    """The official client, whose cancellations reach the other replica."""
    balancer = LoadBalancer(other)
    async with (
        httpx2.AsyncClient(transport=balancer, timeout=WAIT) as http,
        Client(streamable_http_client(f"{one.url}/mcp", http_client=http), mode="legacy") as made,
    ):
        yield made, balancer


@pytest.mark.rule("MCP-14", "LATE-1")
async def test_the_official_clients_cancellation_is_honoured_whichever_replica_it_reaches(
    replicas: list[Served],
) -> None:
    one, other = replicas
    async with balanced(one, other) as (mcp, balancer), client(other) as later:
        calling = asyncio.create_task(mcp.call_tool("ask_user", {**GO, "conversation": "c1"}))
        ask = await one.newest()
        await one.wait_for_waiters(ask)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        async with asyncio.timeout(WAIT):
            await balancer.cancelled.wait()
        await one.wait_for_waiters(ask, 0)
        await answer(other, ask)
        (given,) = (await check(later, conversation="c1"))["answers"]
        assert given["ask_id"] == ask.id


@pytest.mark.rule("MCP-14", "LATE-4")
@pytest.mark.parametrize("crossing", [False, True])
async def test_a_cancellation_at_another_replica_ends_a_call_whose_stream_stays_open(
    replicas: list[Served], crossing: bool
) -> None:
    one, other = replicas
    raw, elsewhere = RawClient(one), RawClient(other)
    await raw.connect()
    elsewhere._session = raw._session
    async with raw.call(1, **GO, conversation="c1") as response:
        ask = await one.newest()
        await one.wait_for_waiters(ask)
        if crossing:
            await answer(other, ask)
            await events_of(response)
            await elsewhere.cancel(1)
        else:
            await elsewhere.cancel(1)
            (ended,) = await events_of(response)
            assert ended["error"]["message"] == "Request cancelled"
            await answer(other, ask)
    url, given = f"{other.url}/v1/answers?conversation=c1", list[str]()
    async with asyncio.timeout(WAIT):
        while not given:
            async with other.http.get(url) as listed:
                given = [each["id"] for each in (await listed.json())["answers"]]
    assert given == [ask.id]


@pytest.mark.rule("MCP-14")
async def test_a_cancellation_at_another_replica_ends_no_other_call(replicas: list[Served]) -> None:
    one, other = replicas
    raw, stranger = RawClient(one), RawClient(other)
    await raw.connect()
    await stranger.connect()
    async with raw.call(1, **GO) as response:
        ask = await one.newest()
        await one.wait_for_waiters(ask)
        await stranger.cancel(1)
        await answer(other, ask)
        (answered,) = await events_of(response)
    assert answered["result"]["structuredContent"]["answer"] is True
