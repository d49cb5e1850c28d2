"""The agents that can be connected: a row each, with what it needs.

Shapes: the releases named in docs/agents.md, and each host's documentation.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from answerback_agents.connect.connectable_agent import (
    AgentFile,
    ConnectableAgent,
    Scope,
    ServiceConnection,
)
from answerback_agents.connect.mcp_rows import MCP_ROWS, TOOL_TIMEOUT
from answerback_agents.connect.settings_entries import NAME, Entry, Json, ListItem, Setting
from answerback_agents.connect.toml_edit import TomlFormat

_HOOK_TIMEOUT: Final = 86_400
"""Seconds for which a host waits for a hook that asks a person."""
_LATE_ANSWERS_TIMEOUT: Final = 10
"""Seconds for a hook that only fetches late answers."""


def _home(variable: str, default: str) -> Callable[[], Path]:
    def folder() -> Path:
        value = os.environ.get(variable)
        return Path(value) if value else Path.home() / default

    return folder


def _command(service: ServiceConnection, agent: str, timeout: int) -> Json:
    return {"type": "command", "command": service.hook_command(agent), "timeout": timeout}


def _group(event: str, handler: Json, matcher: str | None = None) -> ListItem:
    matching: Json = {} if matcher is None else {"matcher": matcher}
    return ListItem(("hooks", event), {**matching, "hooks": [handler]})


def _claude(service: ServiceConnection) -> list[Entry]:
    """Commands, though Claude Code has HTTP hooks too: a command waits for a service that restarts."""
    asks: Json = {**_command(service, "claude", _HOOK_TIMEOUT), "onFailure": "block"}
    late = _command(service, "claude", _LATE_ANSWERS_TIMEOUT)
    return [
        _group("PreToolUse", asks, "AskUserQuestion"),
        _group("PermissionRequest", asks),
        _group("Elicitation", asks),
        _group("UserPromptSubmit", late),
        _group("Stop", late),
    ]


def _codex(service: ServiceConnection) -> list[Entry]:
    server: Json = {"url": service.mcp_url, "tool_timeout_sec": TOOL_TIMEOUT}
    server["default_tools_approval_mode"] = "approve"  # asking people needs no permission from them
    if service.token_env is not None:
        server["bearer_token_env_var"] = service.token_env
    asks = _command(service, "codex", _HOOK_TIMEOUT)
    return [
        Setting(("mcp_servers", NAME), server),
        _group("PreToolUse", asks, "request_user_input"),
        _group("PermissionRequest", asks),
        _group("UserPromptSubmit", _command(service, "codex", _LATE_ANSWERS_TIMEOUT)),
    ]


def _opencode(service: ServiceConnection) -> list[Entry]:
    server = service.server(variable="{{env:{}}}")
    more: Json = {"enabled": True, "oauth": False, "timeout": TOOL_TIMEOUT * 1000}
    return [Setting(("mcp", NAME), {"type": "remote", **server, **more})]


def _gemini(service: ServiceConnection) -> list[Entry]:
    server = service.server("httpUrl", "${}", timeout=TOOL_TIMEOUT * 1000, trust=True)
    return [
        Setting(("mcpServers", NAME), server),
        _group(
            "BeforeTool",
            _command(service, "gemini", _HOOK_TIMEOUT * 1000),
            "^(ask_user|mcp_answerback_.+)$",
        ),
        _group("BeforeAgent", _command(service, "gemini", _LATE_ANSWERS_TIMEOUT * 1000)),
    ]


def _grok(service: ServiceConnection) -> list[Entry]:
    server = service.server(tool_timeout_sec=TOOL_TIMEOUT)
    return [Setting(("mcp_servers", NAME), server)]


def _grok_hooks(service: ServiceConnection) -> list[Entry]:
    return [
        _group("PreToolUse", _command(service, "grok", _HOOK_TIMEOUT), "ask_user_question"),
        _group("PostToolUse", _command(service, "grok", _LATE_ANSWERS_TIMEOUT)),
    ]


def _copilot_server(service: ServiceConnection) -> list[Entry]:
    server = service.server(tools=["*"])
    return [Setting(("mcpServers", NAME), {"type": "http", **server})]


def _copilot_hooks(service: ServiceConnection) -> list[Entry]:
    command: Json = {"type": "command", "bash": service.hook_command("copilot")}
    return [
        ListItem(("hooks", "permissionRequest"), {**command, "timeoutSec": _HOOK_TIMEOUT}),
        ListItem(
            ("hooks", "userPromptSubmitted"), {**command, "timeoutSec": _LATE_ANSWERS_TIMEOUT}
        ),
    ]


def _copilot_hook_file(service: ServiceConnection) -> list[Entry]:
    return [Setting(("version",), 1), *_copilot_hooks(service)]


def _same_in_both_scopes(
    entries: Callable[[ServiceConnection], Sequence[Entry]], user: str, project: str
) -> dict[Scope, Sequence[AgentFile]]:
    return {
        Scope.USER: [AgentFile([user], entries)],
        Scope.PROJECT: [AgentFile([project], entries)],
    }


_OPENCODE: Final = [AgentFile(["opencode.json", "opencode.jsonc"], _opencode)]
_GROK: Final = [
    AgentFile([".grok/config.toml"], _grok, TomlFormat()),
    AgentFile([".grok/hooks/answerback.json"], _grok_hooks),
]
_RESTART: Final = "Restart {title} if it is running: it reads this file when it starts."
_KEEP_PROGRAM: Final = (
    "The hooks run {program}: do not move that program, and keep the service running."
)

AGENTS: Final[dict[str, ConnectableAgent]] = {
    "codex": ConnectableAgent(
        title="Codex",
        places=_same_in_both_scopes(_codex, "config.toml", ".codex/config.toml"),
        home=_home("CODEX_HOME", ".codex"),
        format=TomlFormat(),
        limitations=[
            "Codex receives the answer to request_user_input as the message of a blocked call.",
            "Permission can only be given once or denied: no rules, no changed arguments, and End Turn just denies.",
        ],
        next_steps=[
            _RESTART,
            "Codex does not run a new hook until you trust it: trust the three hooks of Answerback when it asks.",
            "Codex only reads .codex/config.toml in projects that you trust.",
            _KEEP_PROGRAM,
        ],
    ),
    "opencode": ConnectableAgent(
        title="opencode",
        places={Scope.USER: _OPENCODE, Scope.PROJECT: _OPENCODE},
        home=lambda: _home("XDG_CONFIG_HOME", ".config")() / "opencode",
        limitations=[
            "Without `answerback bridge opencode`, its own questions and permission prompts stay in the terminal."
        ],
        next_steps=[
            _RESTART,
            "For its own questions and permission prompts, start it with `opencode --port 4096`, and also run "
            "`answerback bridge opencode http://127.0.0.1:4096`.",
        ],
    ),
    "gemini": ConnectableAgent(
        title="Gemini CLI",
        places=_same_in_both_scopes(_gemini, "settings.json", ".gemini/settings.json"),
        home=lambda: _home("GEMINI_CLI_HOME", "")() / ".gemini",
        limitations=[
            "Gemini CLI receives the answer to ask_user as the message of a blocked call.",
            "Its permission prompts stay in the terminal.",
            "Without a terminal (-p) it disables all tools named ask_user: its model has to use ask_user_question.",
        ],
        next_steps=[
            _RESTART,
            "Gemini CLI only reads .gemini/settings.json in folders that you trust.",
            _KEEP_PROGRAM,
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
            "Only Copilot's host program can answer its own ask_user: its model has to use the MCP tools.",
            "Permission can only be given once or denied.",
        ],
        next_steps=[_RESTART, _KEEP_PROGRAM],
    ),
    "claude": ConnectableAgent(
        title="Claude Code",
        places=_same_in_both_scopes(_claude, "settings.json", ".claude/settings.json"),
        home=_home("CLAUDE_CONFIG_DIR", ".claude"),
        limitations=[
            "In print mode (-p), Claude Code only has AskUserQuestion if something decides about permissions.",
        ],
        next_steps=[
            _RESTART,
            "To give the model Answerback's own tools too, such as ask_user, add the MCP server: "
            "claude mcp add --transport http answerback {url}/mcp{header}",
        ],
    ),
    "grok": ConnectableAgent(
        title="Grok Build",
        places={Scope.USER: _GROK, Scope.PROJECT: _GROK},
        home=Path.home,
        limitations=[
            "Grok receives the answer to ask_user_question as the message of a blocked call.",
            "Its permission prompts stay in its window.",
        ],
        next_steps=[
            _RESTART,
            "Grok only runs a project's hooks, and starts its servers, once you trust the project: run /hooks-trust.",
            _KEEP_PROGRAM,
        ],
    ),
    **MCP_ROWS,
}
"""The agents that `answerback connect` supports."""
