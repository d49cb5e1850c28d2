"""The MCP tools from the service in this process, and through the relay that `answerback mcp` runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from mcp import Client
from mcp_types import CallToolResult

from answerback.core.ask import Ask
from answerback.core.errors import CommitUnknownError, StoreError, UnreadableRowError
from answerback.mcp.backend import PATH, AskBackend
from answerback.mcp.endpoint import McpEndpoint
from answerback.mcp.server import PROGRESS_INTERVAL, build_mcp_server
from answerback.mcp.tools import follow_up_tools
from answerback.service.agent_requests import Callers
from answerback.service.question_routing import ToolRule
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Served, nobody, run_to_completion, served
from tests.unit.bot.mcp.test_mcp import AWAY, GO, relayed


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    off = {"AskUserQuestion": ToolRule(enable=False)}
    async with served(tmp_path, tools=off) as made:
        yield made


Connect = Callable[[], AbstractAsyncContextManager[Client]]


@pytest.fixture(params=["in this process", "relayed"])
def connect(request: pytest.FixtureRequest, service: Served) -> Connect:
    if request.param == "relayed":
        return lambda: relayed(service.url)
    return lambda: Client(build_mcp_server(lambda _: backend_of(service)))


def backend_of(service: Served) -> AskBackend:
    return AskBackend(service.running.service, Callers(nobody, run_to_completion), None)


async def ask_directly(service: Served) -> CallToolResult:
    async with Client(build_mcp_server(lambda _: backend_of(service))) as mcp:
        return await mcp.call_tool("ask_user", GO)


@pytest.mark.rule("MCP-3")
async def test_progress_continues_as_long_as_the_wait(service: Served) -> None:
    reported: list[float] = []
    enough = asyncio.Event()

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        reported.append(progress)
        if len(reported) >= 4:
            enough.set()

    callers = Callers(nobody, run_to_completion)
    endpoint = McpEndpoint(service.running.service, callers, tokens=False, progress=0.05)
    app = web.Application()
    app.router.add_post(PATH, endpoint.handle)
    async with (
        endpoint.running(),
        TestServer(app) as server,
        Client(str(server.make_url("/mcp"))) as mcp,
    ):
        calling = asyncio.create_task(mcp.call_tool("ask_user", GO, progress_callback=progress))
        async with asyncio.timeout(WAIT):
            await enough.wait()
        await service.act(await service.newest(), action="answer", value=True)
        assert (await calling).structured_content == {"answer_type": "boolean", "answer": True}
    assert reported[:4] == sorted(set(reported[:4]))
    assert PROGRESS_INTERVAL <= 20


@pytest.mark.rule("MCP-8")
async def test_the_relay_returns_what_the_service_does(service: Served, connect: Connect) -> None:
    async with connect() as mcp:
        names = [tool.name for tool in (await mcp.list_tools()).tools]
        assert names == ["ask_user", *(tool.name for tool in follow_up_tools())]
        pending = await mcp.call_tool("ask_user", {**GO, "wait_seconds": 0})
        ask_id = pending.structured_content["ask_id"]
        waited = await mcp.call_tool("wait_for_answer", {"ask_id": ask_id, "wait_seconds": 0.05})
        assert waited.structured_content["status"] == "pending"
        looked = await mcp.call_tool("get_answer", {"ask_id": ask_id})
        assert looked.structured_content["status"] == "pending"
        calling = asyncio.create_task(mcp.call_tool("wait_for_answer", {"ask_id": ask_id}))
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        await service.act(ask, action="reply", text="No.")
        assert (await calling).structured_content["reply"] == "No."
        again = await mcp.call_tool("withdraw_ask", {"ask_id": ask_id})
        assert again.structured_content["reply"] == "No."
        other = await mcp.call_tool("ask_user", {**GO, "wait_seconds": 0})
        gone = await mcp.call_tool("withdraw_ask", {"ask_id": other.structured_content["ask_id"]})
        assert gone.structured_content["reason"] == "withdrawn"
        for tool in ("wait_for_answer", "get_answer", "withdraw_ask"):
            unknown = await mcp.call_tool(tool, {"ask_id": "ask_0"})
            assert unknown.is_error
            assert unknown.structured_content == {"error": "There is no ask with the id ask_0."}
        invalid = await mcp.call_tool("ask_user", {"questions": []})
        assert invalid.is_error
        assert invalid.structured_content["errors"][0]["code"] == "too_few"
        lost = await mcp.call_tool("ask_user", {**GO, "to": "nowhere"})
        assert "neither a route" in lost.structured_content["errors"][0]["message"]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (StoreError("disk"), "nothing was changed. Try again later"),
        (CommitUnknownError("disk"), "this may or may not have been saved"),
        (UnreadableRowError("The ask ask_1 cannot be read."), "The ask ask_1 cannot be read."),
    ],
)
async def test_a_failing_database_is_explained(
    service: Served, monkeypatch: pytest.MonkeyPatch, error: StoreError, text: str
) -> None:
    async def broken(*_: object) -> Any:
        raise error

    monkeypatch.setattr(service.running.service.store.asks, "create", broken)
    result = await ask_directly(service)
    assert result.is_error
    assert text in result.structured_content["error"]


async def test_a_saved_question_is_pending_even_if_it_cannot_be_read_now(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> Any:
        raise StoreError("disk")

    with monkeypatch.context() as failing:
        failing.setattr(service.running.service.store.asks, "get", broken)
        result = await ask_directly(service)
    assert result.structured_content["status"] == "pending"
    assert (await service.newest()).id == result.structured_content["ask_id"]


@pytest.mark.rule("MCP-8")
async def test_an_unreachable_service_is_explained_and_its_tools_are_still_listed() -> None:
    async with relayed(AWAY) as mcp:
        assert len((await mcp.list_tools()).tools) == 7
        for name, arguments in (
            ("ask_user", GO),
            ("wait_for_answer", {"ask_id": "ask_1"}),
            ("get_answer", {"ask_id": "ask_1"}),
            ("add_context", {"ask_id": "ask_1", "text": "x"}),
            ("withdraw_ask", {"ask_id": "ask_1"}),
        ):
            result = await mcp.call_tool(name, arguments)
            assert result.is_error
            assert "answerback serve" in result.structured_content["error"]


async def test_a_token_without_permission_is_explained(tmp_path: Path) -> None:
    async with served(tmp_path, {"ci": "agent"}) as service, relayed(service.url, "ab_no") as mcp:
        result = await mcp.call_tool("ask_user", GO)
    assert result.is_error
    assert "token" in result.structured_content["error"]
    assert "set ANSWERBACK_TOKEN to the agent's token" in result.structured_content["error"]


async def test_a_url_without_a_scheme_is_explained() -> None:
    async with relayed("localhost:8787") as mcp:
        result = await mcp.call_tool("ask_user", GO)
    assert result.is_error
    assert result.structured_content == {
        "error": "localhost:8787 is not a valid Answerback address. Use http://host:port."
    }


async def test_waiting_for_an_unknown_or_ended_ask_returns_at_once(
    service: Served, connect: Connect
) -> None:
    async with connect() as mcp:
        pending = await mcp.call_tool("ask_user", {**GO, "wait_seconds": 0})
        ask_id = pending.structured_content["ask_id"]
        await service.running.service.withdraw(ask_id)
        async with asyncio.timeout(WAIT / 2):
            unknown = await mcp.call_tool("wait_for_answer", {"ask_id": "ask_none"})
            ended = await mcp.call_tool("wait_for_answer", {"ask_id": ask_id})
        assert "There is no ask" in unknown.structured_content["error"]
        assert ended.structured_content["reason"] == "withdrawn"


@pytest.mark.rule("WAITING-2")
async def test_looking_up_an_ask_counts_as_waiting(
    service: Served, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connect() as mcp:
        polled = []

        async def record_poll(ask: Ask) -> None:
            polled.append(ask.id)

        pending = await mcp.call_tool("ask_user", {**GO, "wait_seconds": -(10**300)})  # as 0
        ask_id = pending.structured_content["ask_id"]
        monkeypatch.setattr(service.running.service.presence, "record_poll", record_poll)
        await mcp.call_tool("get_answer", {"ask_id": ask_id})
        assert polled == [ask_id]
