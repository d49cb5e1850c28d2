"""Hosts that are connected by hooks or a bridge, as `answerback connect` sets them up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from tests.agents import test_claude_code as claude
from tests.agents import test_codex as codex
from tests.agents.conftest import PATIENCE, Home
from tests.agents.model import Model
from tests.agents.test_opencode import Program, serving
from tests.hosts.acp_programs import SHOP, Session


@dataclass(frozen=True)
class ClaudeCode:
    """By its hooks over HTTP."""

    name: str = "Claude Code"
    options: tuple[str, ...] = ()

    def planning(self) -> ClaudeCode:
        """The same in its plan mode."""
        return replace(self, options=("--permission-mode", "plan"))

    @asynccontextmanager
    async def session(self, home: Home, model: Model) -> AsyncIterator[Session]:
        """Start one that a program drives."""
        await home.connect("claude")
        servers = json.dumps({"mcpServers": {"shop": {"type": "stdio", **SHOP}}})
        settings = json.dumps({"skipWebFetchPreflight": True})
        options = ("--mcp-config", servers, "--settings", settings, *self.options)
        command = ("claude", "-p", *claude.STREAM, *options)
        async with home.started(*command, environment=claude.environment(model)) as process:

            async def prompt(text: str) -> None:
                message = {"type": "user", "message": {"role": "user", "content": text}}
                assert process.stdin is not None
                process.stdin.write(json.dumps(message).encode() + b"\n")
                await claude.final_result(process)

            yield Session(prompt)


@dataclass(frozen=True)
class Codex:
    """By the bridge in front of its app server."""

    name: str = "Codex"

    @asynccontextmanager
    async def session(self, home: Home, model: Model) -> AsyncIterator[Session]:
        """Start a thread."""
        file = codex.configure(home, model)
        command, arguments = json.dumps(SHOP["command"]), json.dumps(SHOP["args"])
        file.write_text(
            f"{file.read_text()}\n[mcp_servers.shop]\ncommand = {command}\nargs = {arguments}\n"
        )
        async with codex.drive(home, *codex.BRIDGE) as program:
            thread = await codex.thread_of(home, program)

            async def prompt(text: str) -> None:
                await codex.turn(program, thread, text)

            yield Session(prompt)


@dataclass(frozen=True)
class OpenCode:
    """By the bridge to its server."""

    program: str = "opencode"
    name: str = "opencode"

    @asynccontextmanager
    async def session(self, home: Home, model: Model) -> AsyncIterator[Session]:
        """Start a session."""
        program = Program(self.program)
        asks = ("bash", "edit", "webfetch", "external_directory", "shop_*")
        shop = {"type": "local", "command": [SHOP["command"], *SHOP["args"]], "enabled": True}
        permission = dict.fromkeys(asks, "ask")
        await program.connect(home, model, permission=permission, mcp={"shop": shop})
        async with serving(program, home) as (_, http):
            async with http.post("/session", json={}) as response:
                session = (await response.json())["id"]

            async def prompt(text: str) -> None:
                body = {"parts": [{"type": "text", "text": text}]}
                async with asyncio.timeout(PATIENCE):
                    path = f"/session/{session}/message"
                    async with http.post(path, json=body) as response:
                        assert response.ok, await response.text()
                        await response.read()

            yield Session(prompt)


@dataclass(frozen=True)
class Copilot:
    """By its hook; each prompt is a run that continues the session."""

    name: str = "Copilot CLI"

    @asynccontextmanager
    async def session(self, home: Home, model: Model) -> AsyncIterator[Session]:
        """Connect it; its runs are one conversation."""
        await home.connect("copilot")
        file = home.folder / ".copilot" / "mcp-config.json"
        config = json.loads(file.read_text())
        config["mcpServers"]["shop"] = {"type": "local", "tools": ["*"], **SHOP}
        file.write_text(json.dumps(config))
        environment = {
            "COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1",
            "COPILOT_MODEL": "scripted",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        }
        runs = 0

        async def prompt(text: str) -> None:
            nonlocal runs
            again = ("--continue",) if runs else ()
            runs += 1
            await home.run("copilot", *again, "-p", text, **environment)

        yield Session(prompt)
