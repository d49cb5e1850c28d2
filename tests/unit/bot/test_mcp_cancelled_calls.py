"""A call over MCP that its client cancelled has delivered nothing: the answer is a late one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback.core.ask import Ask
from answerback.service import agent_presence
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.test_late_answers_mcp import check
from tests.unit.bot.test_mcp import BOTH, GO, client

ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


class RawClient:
    """A client that keeps the response stream of a call open after it has cancelled it."""

    def __init__(self, service: Served) -> None:
        self._service = service
        self._session: dict[str, str] = {}

    async def connect(self) -> None:
        info = {"name": "raw", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        async with self.post("initialize", params, 0) as response:
            self._session = {"Mcp-Session-Id": response.headers["Mcp-Session-Id"]}

    def post(self, method: str, params: Any, request_id: Any = None) -> Any:
        body = {"jsonrpc": "2.0", "method": method, "params": params}
        if request_id is not None:
            body["id"] = request_id
        url = f"{self._service.url}/mcp"
        return self._service.http.post(url, json=body, headers={**ACCEPT, **self._session})

    def call(self, request_id: Any, **arguments: Any) -> Any:
        return self.post("tools/call", {"name": "ask_user", "arguments": arguments}, request_id)

    async def cancel(self, request_id: Any) -> None:
        async with self.post("notifications/cancelled", {"requestId": request_id}) as response:
            assert response.status == 202


@pytest.fixture
async def raw(service: Served) -> RawClient:
    made = RawClient(service)
    await made.connect()
    return made


async def events_of(response: aiohttp.ClientResponse) -> list[dict[str, Any]]:
    """The messages of a response's stream, once it has ended."""
    lines = (await response.text()).splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


async def wait_until_left(service: Served, ask: Ask) -> None:
    """Wait until an ask says that its agent does not wait."""
    async with asyncio.timeout(WAIT):
        with service.running.service.follow(ask.id) as follower:
            while True:
                async with service.http.get(f"{service.url}/v1/asks/{ask.id}") as response:
                    if not (await response.json())["waiting"]:
                        return
                await follower.next_commit()


@pytest.mark.rule("MCP-14", "LATE-1")
@BOTH
@pytest.mark.parametrize("how", ["cancel", "timeout"])
async def test_the_answer_to_a_cancelled_call_is_late(service: Served, mode: str, how: str) -> None:
    call = {**GO, "conversation": "c1"}
    async with client(service, mode) as mcp:
        if how == "timeout":
            with pytest.raises(Exception, match=r"(?i)timed? ?out"):
                await mcp.call_tool("ask_user", call, read_timeout_seconds=0.3)
            ask = await service.newest()
        else:
            calling = asyncio.create_task(mcp.call_tool("ask_user", call))
            ask = await service.newest()
            await service.wait_for_waiters(ask)
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)
        await service.wait_for_waiters(ask, 0)
        await service.act(ask, action="answer", value=True)
        (given,) = (await check(mcp, conversation="c1"))["answers"]
        assert given["ask_id"] == ask.id
        assert (await check(mcp, conversation="c1"))["answers"] == []


@pytest.mark.rule("MCP-14", "WAITING-2")
async def test_an_ask_says_soon_that_a_cancelled_call_does_not_wait(
    service: Served, raw: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_presence, "CUT_OFF_GRACE", 0.1)
    async with raw.call(7, **GO) as response:
        ask = await service.newest()
        async with asyncio.timeout(WAIT):
            while not service.running.service.presence.is_waiting(ask.id):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        await raw.cancel("7")
        await wait_until_left(service, ask)
        (ended,) = await events_of(response)
    assert ended["error"]["message"] == "Request cancelled"


@pytest.mark.rule("MCP-14", "LATE-4")
async def test_a_cancellation_that_crosses_the_answer_undoes_its_delivery(
    service: Served, raw: RawClient
) -> None:
    async with raw.call(1, **GO, conversation="c1") as response:
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        await service.act(ask, action="answer", value=True)
        (answered,) = await events_of(response)
    assert answered["result"]["structuredContent"]["answer"] is True
    await raw.cancel(1)
    url = f"{service.url}/v1/answers?conversation=c1"
    async with service.http.get(url) as response:
        assert [one["id"] for one in (await response.json())["answers"]] == [ask.id]


@pytest.mark.rule("MCP-14")
async def test_a_client_cancels_only_its_own_calls(service: Served, raw: RawClient) -> None:
    other = RawClient(service)
    await other.connect()
    async with raw.call(1, **GO) as response:
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        await other.cancel(1)
        await RawClient(service).cancel(1)
        await raw.cancel(2)
        await service.act(ask, action="answer", value=True)
        (answered,) = await events_of(response)
    assert answered["result"]["structuredContent"]["answer"] is True


@pytest.mark.parametrize("params", [None, {}, {"requestId": None}, {"requestId": [1]}, [1]])
async def test_a_cancellation_of_nothing_is_acknowledged(
    service: Served, raw: RawClient, params: Any
) -> None:
    async with raw.post("notifications/cancelled", params) as response:
        assert response.status < 500
