"""What each agent's configuration needs: its files, what is put into them, and what the agent cannot do.

The shapes are those of the releases that docs/agents.md names, and each host's documentation.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.agents.connect.change_plan import Target
from answerback.agents.connect.config_files import ConfigFile
from answerback.agents.connect.jsonc_edit import JsoncFormat
from answerback.agents.connect.settings_entries import Entry, HookGroup, Json, Setting
from answerback.agents.connect.toml_edit import TomlFormat

NAME: Final = "answerback"
DEFAULT_URL: Final = "http://127.0.0.1:8420"
DEFAULT_TOKEN_ENV: Final = "ANSWERBACK_TOKEN"

_DAY: Final = 86_400
"""Seconds that a host waits for a person."""
_WAIT: Final = 86_000
"""Seconds after which Answerback says that nobody answered: before the host stops waiting, without a word."""
_PROMPT: Final = 10
"""Seconds for a hook that looks for late answers only."""
_CALL: Final = 3_600
"""Seconds that one call of the MCP tools may take; they answer sooner by themselves."""


class Scope(StrEnum):
    """Whose configuration."""

    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceConnection:
    """What an agent is told of the service."""

    url: str = DEFAULT_URL
    token_env: str | None = None
    """The variable with the token; None where no token is needed."""
    program: str = NAME
    """How this program is started."""

    def hook_command(self, agent: str) -> str:
        """The command that a hook runs."""
        words = [self.program, "hook", agent]
        words += [] if self.url == DEFAULT_URL else ["--url", self.url]
        if self.token_env not in (None, DEFAULT_TOKEN_ENV):
            words += ["--token-env", str(self.token_env)]
        return shlex.join(words)

    def server(self, key: str = "url", variable: str = "${{{}}}", **more: JsonValue) -> Json:
        """The MCP server.

        Args:
            key: what the host calls its address.
            variable: how the host writes a variable of the environment.
        """
        server: Json = {key: f"{self.url}/mcp"}
        if self.token_env is not None:
            server["headers"] = {"Authorization": f"Bearer {variable.format(self.token_env)}"}
        return {**server, **more}


class AgentFile(NamedTuple):
    """One file of an agent, and what goes into it."""

    names: Sequence[str]
    """From the scope's folder; of several, the first that is there, or else the first."""
    entries: Callable[[ServiceConnection], Sequence[Entry]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectableAgent:
    """An agent that can be connected."""

    title: str
    places: dict[Scope, Sequence[AgentFile]]
    home: Callable[[], Path]
    """The folder of the user's configuration."""
    limitations: Sequence[str]
    """What does not work, a sentence each."""
    next_steps: Sequence[str]
    """What the person has to do, a sentence each."""
    toml: bool = False
    hints: dict[Scope, str] = field(default_factory=dict)
    """Why a scope is not offered, and what to do instead."""

    def targets(self, scope: Scope, service: ServiceConnection, project: Path) -> list[Target]:
        """The files to change."""
        folder = self.home() if scope is Scope.USER else project
        return [
            Target(
                ConfigFile(_first_there(folder, place.names), folder),
                TomlFormat() if self.toml else JsoncFormat(),
                place.entries(service),
            )
            for place in self.places[scope]
        ]


def _first_there(folder: Path, names: Sequence[str]) -> Path:
    found = (path for name in names if (path := folder / name).exists())
    return next(found, folder / names[0])


def _home(variable: str, default: str) -> Callable[[], Path]:
    def found() -> Path:
        given = os.environ.get(variable)
        return Path(given) if given else Path.home() / default

    return found


def _command(service: ServiceConnection, agent: str, timeout: int) -> Json:
    return {"type": "command", "command": service.hook_command(agent), "timeout": timeout}


def _group(event: str, handler: Json, matcher: str | None = None) -> HookGroup:
    matching: Json = {} if matcher is None else {"matcher": matcher}
    return HookGroup(("hooks", event), {**matching, "hooks": [handler]})


def _claude(service: ServiceConnection) -> list[Entry]:
    handler: Json = {
        "type": "http",
        "url": f"{service.url}/hooks/claude?wait={_WAIT}",
        "timeout": _DAY,
        "onFailure": "block",
    }
    late: Json = {"type": "http", "url": f"{service.url}/hooks/claude", "timeout": 5}
    if service.token_env is not None:
        token: Json = {
            "headers": {"Authorization": f"Bearer ${service.token_env}"},
            "allowedEnvVars": [service.token_env],
        }
        handler, late = {**handler, **token}, {**late, **token}
    return [
        _group("PreToolUse", handler, "AskUserQuestion"),
        _group("PermissionRequest", handler),
        _group("Elicitation", handler),
        _group("UserPromptSubmit", late),
        _group("Stop", late),
    ]


def _codex(service: ServiceConnection) -> list[Entry]:
    server: Json = {"url": f"{service.url}/mcp", "tool_timeout_sec": _CALL}
    server["default_tools_approval_mode"] = "approve"  # asking people needs no leave of theirs
    if service.token_env is not None:
        server["bearer_token_env_var"] = service.token_env
    asks = _command(service, "codex", _DAY)
    return [
        Setting(("mcp_servers", NAME), server),
        _group("PreToolUse", asks, "request_user_input"),
        _group("PermissionRequest", asks),
        _group("UserPromptSubmit", _command(service, "codex", _PROMPT)),
    ]


def _opencode(service: ServiceConnection) -> list[Entry]:
    server = service.server(variable="{{env:{}}}")
    more: Json = {"enabled": True, "oauth": False, "timeout": _CALL * 1000}
    return [Setting(("mcp", NAME), {"type": "remote", **server, **more})]


def _gemini(service: ServiceConnection) -> list[Entry]:
    server = service.server("httpUrl", "${}", timeout=_CALL * 1000, trust=True)
    return [
        Setting(("mcpServers", NAME), server),
        _group(
            "BeforeTool", _command(service, "gemini", _DAY * 1000), "^(ask_user|mcp_answerback_.+)$"
        ),
        _group("BeforeAgent", _command(service, "gemini", _PROMPT * 1000)),
    ]


def _copilot_server(service: ServiceConnection) -> list[Entry]:
    server = service.server(tools=["*"])
    return [Setting(("mcpServers", NAME), {"type": "http", **server})]


def _copilot_hooks(service: ServiceConnection) -> list[Entry]:
    command: Json = {"type": "command", "bash": service.hook_command("copilot")}
    return [
        HookGroup(("hooks", "permissionRequest"), {**command, "timeoutSec": _DAY}),
        HookGroup(("hooks", "userPromptSubmitted"), {**command, "timeoutSec": _PROMPT}),
    ]


def _copilot_hook_file(service: ServiceConnection) -> list[Entry]:
    return [Setting(("version",), 1), *_copilot_hooks(service)]


def _vscode(service: ServiceConnection) -> list[Entry]:
    server = service.server(variable="${{env:{}}}")
    return [Setting(("servers", NAME), {"type": "http", **server})]


def _cursor(service: ServiceConnection) -> list[Entry]:
    return [Setting(("mcpServers", NAME), service.server(variable="${{env:{}}}"))]


def _everywhere(
    entries: Callable[[ServiceConnection], Sequence[Entry]], user: str, project: str
) -> dict[Scope, Sequence[AgentFile]]:
    return {
        Scope.USER: [AgentFile([user], entries)],
        Scope.PROJECT: [AgentFile([project], entries)],
    }


_OPENCODE: Final = [AgentFile(["opencode.json", "opencode.jsonc"], _opencode)]
_COMMANDS: Final = "The hooks run this program: keep it where it is, and its service running."

AGENTS: Final[dict[str, ConnectableAgent]] = {
    "codex": ConnectableAgent(
        title="Codex",
        places=_everywhere(_codex, "config.toml", ".codex/config.toml"),
        home=_home("CODEX_HOME", ".codex"),
        toml=True,
        limitations=[
            "Codex takes an answer to request_user_input as the words of a blocked call.",
            "A permission is given once or denied: no rules, no other arguments, and End Turn only denies.",
        ],
        next_steps=[
            "Codex does not run a new hook before you trust it: start codex, and trust the three hooks when it asks.",
            "Codex reads .codex/config.toml only in projects that you trust.",
            _COMMANDS,
        ],
    ),
    "opencode": ConnectableAgent(
        title="opencode",
        places={Scope.USER: _OPENCODE, Scope.PROJECT: _OPENCODE},
        home=lambda: _home("XDG_CONFIG_HOME", ".config")() / "opencode",
        limitations=[
            "opencode's own questions and permission prompts stay at the terminal without `answerback bridge opencode`."
        ],
        next_steps=[
            "For those, start opencode with `opencode --port 4096`, and beside it "
            "`answerback bridge opencode http://127.0.0.1:4096`.",
        ],
    ),
    "gemini": ConnectableAgent(
        title="Gemini CLI",
        places=_everywhere(_gemini, "settings.json", ".gemini/settings.json"),
        home=lambda: _home("GEMINI_CLI_HOME", "")() / ".gemini",
        limitations=[
            "Gemini CLI takes an answer to ask_user as the words of a blocked call.",
            "Its permission prompts stay at the terminal.",
            "Without a terminal (-p) it withholds every tool called ask_user: its model has to use ask_user_question.",
        ],
        next_steps=[
            "Gemini CLI reads .gemini/settings.json only in folders that you trust.",
            _COMMANDS,
        ],
    ),
    "copilot": ConnectableAgent(
        title="Copilot CLI",
        places={
            Scope.USER: [
                AgentFile(["mcp-config.json"], _copilot_server),
                AgentFile(["settings.json"], _copilot_hooks),
            ],
            Scope.PROJECT: [
                AgentFile([".github/mcp.json"], _copilot_server),
                AgentFile([".github/hooks/answerback.json"], _copilot_hook_file),
            ],
        },
        home=_home("COPILOT_HOME", ".copilot"),
        limitations=[
            "Copilot's own ask_user is answered by the program that hosts it only; its model has to use the MCP tools.",
            "A permission is given once or denied.",
        ],
        next_steps=[_COMMANDS],
    ),
    "claude": ConnectableAgent(
        title="Claude Code",
        places=_everywhere(_claude, "settings.json", ".claude/settings.json"),
        home=_home("CLAUDE_CONFIG_DIR", ".claude"),
        limitations=[
            "Claude Code has AskUserQuestion in print mode (-p) only where something decides about permissions.",
        ],
        next_steps=[
            "Other tools than AskUserQuestion come by MCP: "
            "claude mcp add --transport http answerback {url}/mcp{header}",
        ],
    ),
    "vscode": ConnectableAgent(
        title="Visual Studio Code",
        places={Scope.PROJECT: [AgentFile([".vscode/mcp.json"], _vscode)]},
        home=Path.home,
        hints={
            Scope.USER: "Visual Studio Code keeps the user's servers in each profile: run its command "
            "`MCP: Open User Configuration`, and paste what --print shows."
        },
        limitations=[
            "Its own questions (vscode_askQuestions) and permission prompts stay in the window."
        ],
        next_steps=["Start the server once in the window: `MCP: List Servers`."],
    ),
    "cursor": ConnectableAgent(
        title="Cursor",
        places=_everywhere(_cursor, ".cursor/mcp.json", ".cursor/mcp.json"),
        home=Path.home,
        limitations=["Its own questions and permission prompts stay in the window."],
        next_steps=["Switch the server on under Settings, MCP."],
    ),
}
"""The agents that `answerback connect` knows."""
