"""`answerback mcp` while the service goes, comes back, or is another program."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from mcp.shared.exceptions import MCPError

from answerback.mcp import stdio_relay
from answerback.mcp.server import IDEMPOTENCY_KEY
from answerback_client import ClientError
from answerback_client.connection import ServiceConnection
from answerback_client.retries import Retries
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.mcp.test_mcp import GO, relayed, text

Json = dict[str, Any]
CLAUDE_TOOL_USE = "claudecode/toolUseId"
STREAM = "text/event-stream"
LONGER_THAN_A_PAUSE = 13.0
"""A patience that is longer than the longest pause between two tries."""


@asynccontextmanager
async def listening(
    answer: Callable[[web.Request, Json], Awaitable[web.StreamResponse]],
) -> AsyncIterator[str]:
    """A program at the service's port that answers every call of a tool."""

    async def handle(request: web.Request) -> web.StreamResponse:
        message = await request.json()
        if message["method"] != "tools/call":
            return web.Response(status=404)
        return await answer(request, message)

    app = web.Application()
    app.router.add_post("/mcp", handle)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


def event(message: object) -> bytes:
    return b"event: message\r\ndata: " + json.dumps(message).encode() + b"\r\n\r\n"


def result_for(message: Json) -> Json:
    content = [{"type": "text", "text": "ok"}]
    result = {"content": content, "resultType": "complete"}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


async def cut_off(request: web.Request, *events: object) -> web.StreamResponse:
    """Send events, and then close the connection."""
    response = web.StreamResponse(headers={"Content-Type": STREAM})
    await response.prepare(request)
    for each in events:
        await response.write(event(each))
    assert request.transport is not None
    request.transport.close()
    return response


@pytest.mark.early
@pytest.mark.rule("MCP-8", "MCP-9")
async def test_a_call_whose_connection_breaks_is_repeated_and_finds_its_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = asyncio.Event()
    messages = stdio_relay.read_messages

    async def break_once(*given: Any) -> AsyncIterator[Json]:
        if not broken.is_set():
            broken.set()
            raise ConnectionResetError
        async for message in messages(*given):
            yield message

    async with served(tmp_path) as service, relayed(service.url, patience=WAIT) as mcp:
        await mcp.list_tools()
        monkeypatch.setattr(stdio_relay, "read_messages", break_once)
        calling = asyncio.create_task(mcp.call_tool("ask_user", GO))
        async with asyncio.timeout(WAIT):
            await broken.wait()
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        await service.act(ask, action="answer", value=True)
        assert (await calling).structured_content["answer"] is True
        assert await count(service) == 1


async def count(service: Served) -> int:
    return len((await service.running.service.store.asks.page(limit=10)).rows)


@pytest.mark.rule("MCP-8", "MCP-9")
@pytest.mark.parametrize("key", [None, IDEMPOTENCY_KEY, CLAUDE_TOOL_USE])
async def test_a_repeated_call_has_the_same_key_and_waits_for_what_is_left(key: str | None) -> None:
    got: list[tuple[Json, float]] = []

    async def answer(request: web.Request, message: Json) -> web.StreamResponse:
        got.append((message["params"]["_meta"], float(request.query["wait"])))
        if len(got) == 1:
            return web.Response(status=503)
        if len(got) == 2:
            return await cut_off(request)
        return web.Response(body=event(result_for(message)), content_type=STREAM)

    async with listening(answer) as url, relayed(url, patience=WAIT) as mcp:
        meta: Any = None if key is None else {key: "k1"}
        assert text(await mcp.call_tool("get_answer", {"ask_id": "a"}, meta=meta)) == "ok"
    [first, *_] = keys = [meta[IDEMPOTENCY_KEY] for meta, _ in got]
    assert keys == [first] * 3
    assert first
    assert (first == "k1") == (key == IDEMPOTENCY_KEY)
    waits = [wait for _, wait in got]
    assert waits == sorted(waits, reverse=True)
    assert waits[0] > waits[2]


@pytest.mark.rule("MCP-8")
@pytest.mark.parametrize("key", [7, "", "k" * 201])
async def test_a_key_that_the_service_would_not_take_is_replaced(key: object) -> None:
    got: list[object] = []

    async def answer(request: web.Request, message: Json) -> web.StreamResponse:
        got.append(message["params"]["_meta"][IDEMPOTENCY_KEY])
        if len(got) == 1:
            return web.Response(status=503)
        return web.Response(body=event(result_for(message)), content_type=STREAM)

    async with listening(answer) as url, relayed(url, patience=WAIT) as mcp:
        meta: Any = {IDEMPOTENCY_KEY: key}
        assert text(await mcp.call_tool("get_answer", {"ask_id": "a"}, meta=meta)) == "ok"
    first, second = got
    assert first == second != key


@pytest.mark.rule("MCP-8")
async def test_a_service_that_goes_during_a_long_wait_has_the_whole_patience_to_return() -> None:
    patience = 0.5
    tries = 0

    async def answer(request: web.Request, message: Json) -> web.StreamResponse:
        nonlocal tries
        tries += 1
        if tries > 1:
            return web.Response(body=event(result_for(message)), content_type=STREAM)
        response = web.StreamResponse(headers={"Content-Type": STREAM})
        await response.prepare(request)
        await asyncio.sleep(1.2 * patience)  # people take longer to answer than the patience
        assert request.transport is not None
        request.transport.close()
        return response

    async with listening(answer) as url, relayed(url, patience=patience) as mcp:
        assert text(await mcp.call_tool("get_answer", {"ask_id": "a"})) == "ok"


@pytest.mark.rule("MCP-8")
async def test_a_service_that_ends_every_call_at_once_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Hasty(Retries):
        def pause_after(self, error: ClientError, **given: bool) -> float:
            return min(super().pause_after(error, **given), 0.02)

    monkeypatch.setattr(stdio_relay, "Retries", Hasty)

    async def answer(request: web.Request, _message: Json) -> web.StreamResponse:
        return await cut_off(request, {"jsonrpc": "2.0", "method": "notifications/message"})

    async with (
        listening(answer) as url,
        relayed(url, patience=LONGER_THAN_A_PAUSE, wait=0.3) as mcp,
    ):
        async with asyncio.timeout(WAIT):
            result = await mcp.call_tool("get_answer", {"ask_id": "a"})
        assert result.is_error
        assert "start it with `answerback serve`" in text(result)


@pytest.mark.rule("MCP-3", "MCP-8")
async def test_progress_never_goes_back_when_a_call_is_repeated() -> None:
    tries = 0

    async def answer(request: web.Request, message: Json) -> web.StreamResponse:
        nonlocal tries
        tries += 1
        token = message["params"]["_meta"]["progressToken"]
        params = {"progressToken": token, "progress": 0.0, "total": 50.0, "message": f"{tries}"}
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        other = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
        if tries == 1:
            return await cut_off(request, progress)
        body = b": ping\n\n" + event(progress) + event(other) + event(result_for(message))
        return web.Response(body=body, content_type=STREAM)

    reported: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reported.append((progress, message))

    async with listening(answer) as url, relayed(url, patience=WAIT, mode="legacy") as mcp:
        await mcp.call_tool("get_answer", {"ask_id": "a"}, progress_callback=note)
    assert [message for _, message in reported] == ["1", "2"]
    assert reported[0][0] < reported[1][0]


@pytest.mark.rule("MCP-8")
@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"data: no JSON\n\n", STREAM, 200),
        (b"data: " + b"x" * 64, STREAM, 200),
        (b'{"a": 1}', "application/json", 200),
        (b"Hello", "text/html", 200),
    ],
)
async def test_another_program_is_named_as_such(
    monkeypatch: pytest.MonkeyPatch, body: bytes, kind: str, status: int
) -> None:
    monkeypatch.setattr(stdio_relay, "MAX_MESSAGE", 32)

    async def answer(*_: Any) -> web.StreamResponse:
        return web.Response(body=body, content_type=kind, status=status)

    async with listening(answer) as url, relayed(url) as mcp:
        result = await mcp.call_tool("get_answer", {"ask_id": "a"})
        assert result.is_error
        assert f"The server at {url} is not Answerback" in text(result)
        assert len((await mcp.list_tools()).tools) == 7


@pytest.mark.rule("MCP-8")
async def test_a_service_that_refuses_the_connection_says_why_to_the_model() -> None:
    async def answer(*_: Any) -> web.StreamResponse:
        problem = {"title": "MCP is not installed", "detail": "Install answerback[mcp]."}
        return web.json_response(problem, status=501)

    async with listening(answer) as url, relayed(url, patience=WAIT) as mcp:
        result = await mcp.call_tool("get_answer", {"ask_id": "a"})
    assert (result.is_error, text(result)) == (True, "Install answerback[mcp].")


@pytest.mark.rule("MCP-8")
async def test_an_error_of_the_protocol_is_passed_on_as_it_is() -> None:
    async def answer(_: web.Request, message: Json) -> web.StreamResponse:
        error = {"code": -32001, "message": "No.", "data": {"a": 1}}
        body = {"jsonrpc": "2.0", "id": message["id"], "error": error}
        return web.json_response(body, status=400)

    async with listening(answer) as url, relayed(url) as mcp:
        with pytest.raises(MCPError, match=r"^No\.$") as failed:
            await mcp.call_tool("get_answer", {"ask_id": "a"})
    assert (failed.value.code, failed.value.error.data) == (-32001, {"a": 1})


@pytest.mark.rule("AUTH-18", "MCP-8")
async def test_a_token_is_not_sent_to_a_listener_that_does_not_know_it() -> None:
    sent: list[str] = []

    async def answer(request: web.Request, message: Json) -> web.StreamResponse:
        sent.append(request.headers.get("Authorization", ""))
        return web.Response(body=event(result_for(message)), content_type=STREAM)

    async with listening(answer) as url, relayed(url, "ab_secret") as mcp:
        result = await mcp.call_tool("ask_user", GO)
        await mcp.list_tools()
    assert "did not prove that it knows" in text(result)
    assert sent == []


async def test_the_command_closes_its_connection_when_its_client_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = []

    async def close(connection: ServiceConnection) -> None:
        closed.append(connection.url)

    def no_streams(_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(stdio_relay, "stdio_server", no_streams)
    monkeypatch.setattr(ServiceConnection, "close", close)
    with pytest.raises(BrokenPipeError):
        await stdio_relay.serve_on_streams(
            "http://127.0.0.1:1", None, stdio_relay.RelayOptions(to="slack:C1")
        )
    assert closed == ["http://127.0.0.1:1"]
