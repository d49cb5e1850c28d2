"""Helpers for tests of `answerback acp`: an editor, the proxy as a process, and the requests of a scripted agent."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.acceptance.forked_process import Child, forked
from tests.acceptance.process import PATIENCE, ending_with_its_input
from tests.meta.project import ROOT
from tests.unit.bot.agent_support import Json

AGENT = (sys.executable, str(ROOT / "tests" / "data" / "acp_agent.py"))
OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
INITIALIZE = {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
"""The first message of an editor that does not support elicitation."""


def permission(request_id: Any = 7, session: str = "s1", **more: Any) -> Json:
    """A permission request from an agent that wants to use a tool."""
    tool_call = {"toolCallId": "call_1", "title": "Run make", "rawInput": {"command": "make"}}
    params = {"sessionId": session, "toolCall": tool_call, "options": OPTIONS, **more}
    method = "session/request_permission"
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def elicitation(request_id: Any = 8, **more: Any) -> Json:
    """An elicitation request from an agent; the schema's type is optional."""
    schema = {"properties": {"port": {"type": "integer"}}, "required": ["port"]}
    params = {
        "sessionId": "s1",
        "mode": "form",
        "message": "Which?",
        "requestedSchema": schema,
        **more,
    }
    return {"jsonrpc": "2.0", "id": request_id, "method": "elicitation/create", "params": params}


def selected(option: str, request_id: Any = 7) -> Json:
    """The response to a permission request."""
    outcome = {"outcome": {"outcome": "selected", "optionId": option}}
    return {"jsonrpc": "2.0", "id": request_id, "result": outcome}


def notice(method: str, **params: Any) -> Json:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def withdrawn(request_id: Any = 7) -> Json:
    """The notification to an editor that a request was answered elsewhere."""
    return notice("$/cancel_request", requestId=request_id)


@dataclass
class Editor:
    """An editor, and the proxy that it started."""

    process: Child

    async def send(self, message: Json) -> str:
        """Send a message, and return its line."""
        line = json.dumps(message) + "\n"
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode())
        await self.process.stdin.drain()
        return line

    async def prompt(self, *messages: Json) -> None:
        """Make the agent send something."""
        await self.send({"id": 1, "method": "session/prompt", "params": {"say": messages}})

    async def line(self) -> bytes:
        """Read the next line."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            return await self.process.stdout.readline()

    async def next(self) -> Json:
        """Read the next message."""
        received: Json = json.loads(await self.line())
        return received

    async def agent_received(self) -> Json:
        """The next line that the agent received."""
        received = await self.next()
        assert received["method"] == "_heard", received
        line: Json = json.loads(received["params"]["line"])
        return line

    async def end(self) -> tuple[bytes, str]:
        """End the input, and return the rest of standard output and standard error."""
        async with asyncio.timeout(PATIENCE):
            out, err = await self.process.communicate()
        return out, err.decode()


@asynccontextmanager
async def run_editor(url: str, *agent: str, **environment: str) -> AsyncIterator[Editor]:
    """Start an editor whose agent runs behind the proxy."""
    process = await forked(
        *("acp", "--url", url, "--urgency", "high", "--", *(agent or AGENT)),
        environment=environment,
        stdin=asyncio.subprocess.PIPE,
        limit=2**26,
    )
    async with ending_with_its_input(process):  # the agent ends, and with it the proxy
        yield Editor(process)
