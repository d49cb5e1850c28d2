"""The real process with the official Python client, over HTTP and stdio, killed midway."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from tests.acceptance.agents import Service, eventually, restartable
from tests.acceptance.process import PATIENCE
from tests.mcp_clients import mcp_client
from tests.meta.project import PYTHONPATH

pytestmark = pytest.mark.acceptance

GO: dict[str, Any] = {"question": "Deploy?", "answer_type": "boolean"}


Connect = Callable[[], AbstractAsyncContextManager[Client]]


def connector(service: Service, transport: str) -> Connect:
    """Return a function that connects a client: to the endpoint, or to a bridge that it starts."""
    if transport == "http":
        return lambda: mcp_client(f"{service.url}/mcp")
    bridge = StdioServerParameters(
        command=sys.executable,
        args=["-m", "answerback_agents.cli.main", "mcp", "--url", service.url],
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
    )
    return lambda: Client(stdio_client(bridge))


@pytest.mark.rule("MCP-2", "DATA-3")
@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_an_ask_is_walked_despite_timeouts_and_a_killed_service(
    tmp_path: Path, transport: str
) -> None:
    async with restartable(tmp_path) as service:
        connect = connector(service, transport)
        async with connect() as client:
            ask_id = await ask_and_give_up(client, service)
            if transport == "stdio":
                await expect_refusal_in_words(client)
                # The bridge outlives the service: its client notices nothing.
                waiting = asyncio.create_task(wait_for_answer(client, ask_id))
                await restart_and_answer(service, ask_id)
                async with asyncio.timeout(PATIENCE):
                    assert await waiting == {"answer_type": "boolean", "answer": True}
        if transport == "http":
            waiting = asyncio.create_task(answer_despite_cut_connections(connect, ask_id))
            await restart_and_answer(service, ask_id)
            async with asyncio.timeout(PATIENCE):
                assert await waiting == {"answer_type": "boolean", "answer": True}
        async with connect() as client:
            other = await client.call_tool("ask_user", {**GO, "wait_seconds": 0})
            other_id = other.structured_content["ask_id"]
            withdrawn = await client.call_tool("withdraw_ask", {"ask_id": other_id})
    assert withdrawn.structured_content["reason"] == "withdrawn"


@pytest.mark.rule("MCP-14", "MCP-8")
@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_the_answer_to_a_cancelled_call_is_late(tmp_path: Path, transport: str) -> None:
    async with restartable(tmp_path) as service, connector(service, transport)() as client:
        calling = asyncio.create_task(client.call_tool("ask_user", GO))
        ask_id = (await service.newest())["id"]
        await wait_for_waiters(service, 1)  # a bridge first submits an ask, and then waits for it
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        await wait_for_waiters(service, 0)
        await service.answer(ask_id)
        late = await client.call_tool("check_answers", {})
        assert [one["ask_id"] for one in late.structured_content["answers"]] == [ask_id]
        again = await client.call_tool("check_answers", {})
        assert again.structured_content["answers"] == []


async def wait_for_waiters(service: Service, count: int) -> None:
    """Wait until so many calls wait at the service. ``waiting`` stays true for a while after the last has gone."""

    async def is_reached() -> bool:
        async with aiohttp.request("GET", f"{service.url}/metrics") as response:
            return f"\nanswerback_waiters {count}.0\n" in await response.text()

    await eventually(is_reached)


async def ask_and_give_up(client: Client, service: Service) -> str:
    """Return an ask whose client timed out before anybody answered; a progress message had named it."""
    messages: list[str] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        messages.append(message or "")

    with pytest.raises(MCPError, match=r"(?i)timed? ?out"):
        await client.call_tool("ask_user", GO, read_timeout_seconds=3.0, progress_callback=progress)
    ask_id: str = (await service.newest())["id"]
    assert ask_id in messages[0]
    pending = await client.call_tool("wait_for_answer", {"ask_id": ask_id, "wait_seconds": 0.1})
    assert pending.structured_content["status"] == "pending"
    return ask_id


async def expect_refusal_in_words(client: Client) -> None:
    """Assert that the bridge passes on the service's words."""
    assert (await client.call_tool("ask_user", {"questions": []})).is_error
    unknown = await client.call_tool("get_answer", {"ask_id": "ask_0"})
    lost = await client.call_tool("ask_user", {**GO, "to": "nowhere"})
    assert "There is no ask" in str(unknown.content)
    assert "neither a route" in str(lost.content)
    assert "ask_user_question" in [tool.name for tool in (await client.list_tools()).tools]


async def restart_and_answer(service: Service, ask_id: str) -> None:
    await service.kill()
    await service.start()
    await service.answer(ask_id)


async def answer_despite_cut_connections(connect: Connect, ask_id: str) -> Any:
    """Return the answer, as a client gets it that reconnects whenever its connection is cut."""
    while True:
        try:
            async with connect() as client:
                return await wait_for_answer(client, ask_id)
        except* (MCPError, httpx2.HTTPError):
            await asyncio.sleep(0.1)


async def wait_for_answer(client: Client, ask_id: str) -> Any:
    while True:
        result = await client.call_tool("wait_for_answer", {"ask_id": ask_id})
        if not result.is_error and result.structured_content.get("status") != "pending":
            return result.structured_content
        await asyncio.sleep(0.1)
