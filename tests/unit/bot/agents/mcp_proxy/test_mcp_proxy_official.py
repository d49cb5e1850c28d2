"""`answerback mcp-proxy` between the official client and server, in both generations and over both transports."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import ElicitResult

from answerback.core.ask import headline_of
from tests import matrix
from tests.acceptance.process import PATIENCE
from tests.meta.project import PYTHONPATH
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.hook_support import END, REPLY, value
from tests.unit.bot.mcp_proxy_support import OFFICE

pytestmark = pytest.mark.long

POLICY = """
[servers.office]
rules = [{ tool = "read_note", do = "pass" }, { tool = "count", do = "pass" }]
"""


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@asynccontextmanager
async def http_office() -> AsyncIterator[str]:
    """Run the server over HTTP, and return its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *OFFICE, str(port), stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(PATIENCE):
            while b"Uvicorn running" not in await process.stderr.readline():
                assert process.returncode is None
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        await process.communicate()


async def never(context: object, params: object) -> ElicitResult:
    """The client's own way to ask its user, which announces that it has one."""
    raise AssertionError("the server's question has to go to people")


@asynccontextmanager
async def connected(
    service: Served, folder: Path, mode: str, transport: str, *, elicits: bool = True
) -> AsyncIterator[Client]:
    """Connect a client by the proxy, which can ask its user or cannot."""
    policy = folder / "policy.toml"
    policy.write_text(POLICY)
    async with AsyncExitStack() as stack:
        behind = ["--", *OFFICE]
        if transport == "http":
            url = await stack.enter_async_context(http_office())
            behind = ["--url", url, "--header-env", "X-Key=PYTHONPATH"]
        proxy = StdioServerParameters(
            command=sys.executable,
            args=[
                *("-m", "answerback_agents.cli.main", "mcp-proxy", "--service", service.url),
                *("--policy", str(policy), "--state", str(folder), *behind),
            ],
            env={**os.environ, "PYTHONPATH": PYTHONPATH},
        )
        callback = never if elicits else None
        made = Client(stdio_client(proxy), mode=mode, elicitation_callback=callback)
        yield await stack.enter_async_context(made)


def text(result: Any) -> str:
    """The text of a result."""
    found: str = result.content[0].text
    return found


MODES = ("legacy", "auto")
WAYS = [("legacy", "stdio"), ("legacy", "http"), ("auto", "stdio"), ("auto", "http")]
DENIALS = [
    (value("deny"), "The user denied this call."),
    (REPLY, "Ask Ada."),
    (END, "ended the turn"),
]


@pytest.mark.parametrize(("mode", "transport"), matrix.every(3, WAYS))
@pytest.mark.rule("GATEWAY-1", "GATEWAY-6")
async def test_calls_pass_or_wait_for_people_and_the_servers_question_goes_to_people(
    service: Served, tmp_path: Path, mode: str, transport: str
) -> None:
    async with connected(service, tmp_path, mode, transport) as client:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == {"read_note", "move", "count", "open_files", "pay"}
        assert text(await client.call_tool("read_note", {"name": "a"})) == "The note a."
        [content] = (await client.read_resource("note://b")).contents
        assert content.model_dump()["text"] == "The note b."
        reports = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            reports.append(progress)

        counted = await client.call_tool("count", {}, progress_callback=on_progress)
        assert (text(counted), reports) == ("counted", [1, 2])

        moving = asyncio.create_task(client.call_tool("move", {"thing": "Lämp"}))
        ask = await service.newest()
        assert ask.request.dialect == "approval"
        assert headline_of(ask.form) == "Call move on office"
        await service.act(ask, **value("allow"))
        question = await service.newest(2)
        said = "The server office asks: Answerback asks: which floor?"
        assert headline_of(question.form) == said
        await service.act(question, **value({"floor": 3}))
        assert text(await moving) == "Lämp is on floor 3."


@pytest.mark.rule("GATEWAY-2")
@pytest.mark.parametrize(
    ("action", "said", "mode"),
    matrix.every(
        2, [(*each, mode) for n, each in enumerate(DENIALS) for mode in MODES[:: (-1) ** n]]
    ),
)
async def test_a_call_that_people_deny_is_not_made(
    service: Served, tmp_path: Path, action: dict[str, Any], said: str, mode: str
) -> None:
    async with connected(service, tmp_path, mode, "stdio") as client:
        calling = asyncio.create_task(client.call_tool("move", {"thing": "Lamp"}))
        await service.act(await service.newest(), **action)
        denied = await calling
        assert denied.is_error
        assert said in text(denied)


@pytest.mark.rule("GATEWAY-10")
@pytest.mark.parametrize(("mode", "transport"), matrix.every(3, WAYS))
async def test_people_are_asked_for_a_client_that_cannot_ask_its_user(
    service: Served, tmp_path: Path, mode: str, transport: str
) -> None:
    async with connected(service, tmp_path, mode, transport, elicits=False) as client:
        await client.list_tools()  # which says what to repeat in headers
        moving = asyncio.create_task(client.call_tool("move", {"thing": "Lamp"}))
        await service.act(await service.newest(), **value("allow"))
        await service.act(await service.newest(2), **value({"floor": 3}))
        assert text(await moving) == "Lamp is on floor 3."

        if mode == "legacy":  # the newer generation has no requests of servers
            paying = asyncio.create_task(client.call_tool("pay", {}))
            await service.act(await service.newest(3), **value("allow"))
            await service.act(await service.newest(4), **value(True))
            assert text(await paying) == "accept"

        count = 5 if mode == "legacy" else 3
        opening = asyncio.create_task(client.call_tool("open_files", {"name": "a"}))
        await service.act(await service.newest(count), **value("allow"))
        link = await service.newest(count + 1)
        assert "with a link to office.example.com" in headline_of(link.form)
        await service.act(link, **value(True))
        assert text(await opening) == "The files a."
