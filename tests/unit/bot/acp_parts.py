"""What tests of `answerback acp` share: an editor, the proxy as a process, and what a scripted agent asks."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.acceptance.forked import Child, forked
from tests.acceptance.process import PATIENCE
from tests.meta.project import ROOT
from tests.unit.bot.agent_parts import Json

AGENT = (sys.executable, str(ROOT / "tests" / "data" / "acp_agent.py"))
OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
INITIALIZE = {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
"""What an editor without elicitation begins with."""


def permission(request_id: Any = 7, session: str = "s1", **more: Any) -> Json:
    """What an agent sends that wants to use a tool."""
    tool_call = {"toolCallId": "call_1", "title": "Run make", "rawInput": {"command": "make"}}
    params = {"sessionId": session, "toolCall": tool_call, "options": OPTIONS, **more}
    method = "session/request_permission"
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def elicitation(request_id: Any = 8, **more: Any) -> Json:
    """What an agent sends that has a question; the schema's type may be left out."""
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
    """What an agent is answered that wanted to use a tool."""
    outcome = {"outcome": {"outcome": "selected", "optionId": option}}
    return {"jsonrpc": "2.0", "id": request_id, "result": outcome}


def notice(method: str, **params: Any) -> Json:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def withdrawn(request_id: Any = 7) -> Json:
    """What an editor is told of a request that was answered elsewhere."""
    return notice("$/cancel_request", requestId=request_id)


@dataclass
class Editor:
    """An editor, with the proxy that it started."""

    process: Child

    async def send(self, message: Json) -> str:
        """Sends a message, and returns its line."""
        line = json.dumps(message) + "\n"
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode())
        await self.process.stdin.drain()
        return line

    async def prompt(self, *messages: Json) -> None:
        """Makes the agent say something."""
        await self.send({"id": 1, "method": "session/prompt", "params": {"say": messages}})

    async def line(self) -> bytes:
        """The next line."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            return await self.process.stdout.readline()

    async def next(self) -> Json:
        """The next message."""
        found: Json = json.loads(await self.line())
        return found

    async def heard(self) -> Json:
        """The next line that the agent heard."""
        found = await self.next()
        assert found["method"] == "_heard", found
        line: Json = json.loads(found["params"]["line"])
        return line

    async def end(self) -> tuple[bytes, str]:
        """What is still said, on standard output and error, once nothing more is sent."""
        async with asyncio.timeout(PATIENCE):
            out, err = await self.process.communicate()
        return out, err.decode()


@asynccontextmanager
async def run_editor(url: str, *agent: str, **environment: str) -> AsyncIterator[Editor]:
    """An editor whose agent runs behind the proxy."""
    process = await forked(
        *("acp", "--url", url, "--", *(agent or AGENT)),
        environment=environment,
        stdin=asyncio.subprocess.PIPE,
        limit=2**26,
    )
    try:
        yield Editor(process)
    finally:
        if process.returncode is None:
            assert process.stdin is not None
            process.stdin.close()  # ends the agent, and with it the proxy
            try:
                async with asyncio.timeout(PATIENCE):
                    await process.communicate()
            except TimeoutError:
                process.kill()
                raise
