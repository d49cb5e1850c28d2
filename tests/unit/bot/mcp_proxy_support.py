"""Helpers for tests of `answerback mcp-proxy`: a client, the proxy as a process, and a scripted server."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.acceptance.forked_process import forked
from tests.acceptance.process import ending_with_its_input
from tests.meta.project import ROOT
from tests.unit.bot.acp_support import Editor
from tests.unit.bot.agent_support import Json

SERVER = (sys.executable, str(ROOT / "tests" / "data" / "scripted_mcp_server.py"))
OFFICE = (sys.executable, str(ROOT / "tests" / "data" / "office_mcp_server.py"))
TOOL = {
    "name": "create_issue",
    "description": "Creates an issue.",
    "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}},
}
ALLOW, DENY = "allow", "deny"


def request(method: str, request_id: Any = 1, **params: Any) -> Json:
    """A request."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def call(name: Any = "create_issue", request_id: Any = 7, **params: Any) -> Json:
    """A call of a tool."""
    return request(
        "tools/call", request_id, **{"name": name, "arguments": {"title": "Hi"}, **params}
    )


def response(request_id: Any, **result: Any) -> Json:
    """A response."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


class Client(Editor):
    """An MCP client, and the proxy that it started. The server repeats each line that it gets in `_heard`."""

    async def send_bytes(self, line: bytes) -> None:
        """Send a line as it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        await self.process.stdin.drain()

    async def make_server_say(self, *lines: Json | bytes) -> None:
        """Make the server send lines."""
        said = [each if isinstance(each, bytes) else encode(each) for each in lines]
        params = {"lines": [each.decode("latin-1") for each in said]}
        await self.send({"jsonrpc": "2.0", "method": "_say", "params": params})

    async def received_line(self) -> bytes:
        """The next line that the server got."""
        received = await self.next()
        assert received["method"] == "_heard", received
        line: str = received["params"]["line"]
        return line.encode("latin-1")

    async def expect(self, message: Json) -> None:
        """Wait for a message from the proxy."""
        received = await self.next()
        assert received == message, received

    async def list_tools(self, *tools: Json, **page: Any) -> None:
        """List the server's tools."""
        asked = request("tools/list", "list", **page)
        line = await self.send(asked)
        assert await self.received_line() == line.encode()
        listed = response("list", tools=[*tools])
        await self.make_server_say(listed)
        await self.expect(listed)

    async def passes(self, message: Json) -> None:
        """Send a message, which the server gets byte for byte."""
        line = await self.send(message)
        assert await self.received_line() == line.encode()

    async def is_denied(self, message: Json | None = None) -> str:
        """Send a message unless it has been sent, which is answered by a denial; returns its text."""
        if message is not None:
            await self.send(message)
        received = await self.next()
        assert received["result"]["isError"] is True, received
        text: str = received["result"]["content"][0]["text"]
        return text


def encode(message: Json) -> bytes:
    """A message as a line."""
    return json.dumps(message).encode() + b"\n"


@asynccontextmanager
async def run_client(
    url: str, folder: Path, *options: str, server: tuple[str, ...] = SERVER, policy: str = ""
) -> AsyncIterator[Client]:
    """Start a client with a server behind the proxy, which is called github in the policy."""
    path = folder / "policy.toml"
    path.write_text(f"[servers.github]\n{policy}")
    process = await forked(
        *("mcp-proxy", "--service", url, "--policy", str(path), "--state", str(folder / "state")),
        *("--urgency", "low"),
        *(*options, "--", *server),
        stdin=asyncio.subprocess.PIPE,
        limit=2**26,
    )
    async with ending_with_its_input(process):  # the server ends, and with it the proxy
        yield Client(process)
