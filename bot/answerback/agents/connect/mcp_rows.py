"""The agents that get our tools by MCP, and nothing else: a row each."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from answerback.agents.connect.connectable_agent import (
    NAME,
    AgentFile,
    ConnectableAgent,
    Scope,
    ServiceConnection,
)
from answerback.agents.connect.settings_entries import Entry, Json, Setting

TOOL_TIMEOUT: Final = 3_600
"""Seconds that a call of the MCP tools may take; the tools return earlier on their own."""


def _row(
    title: str,
    checked: str,
    user: str | None,
    project: str | None,
    path: tuple[str, ...],
    *,
    address: str = "url",
    variable: str | None = "${{{}}}",
    token_field: str | None = None,
    more: Json | None = None,
    note: str = "Its own questions and permission prompts stay in its window.",
) -> ConnectableAgent:
    """Return an agent that gets our tools by MCP, and nothing else.

    Args:
        user: the user's file, in the home folder; a variable may name another one for its first folder.
        path: where the file has its servers.
        variable: the syntax for an environment variable in a header; None: it knows none.
        token_field: the field that names the variable with the token, if there is one.
    """

    def entries(service: ServiceConnection) -> list[Entry]:
        if token_field is not None and service.token_env is not None:
            token: Json = {token_field: service.token_env}
        elif variable is not None and service.token_env is not None:
            token = {"headers": {"Authorization": f"Bearer {variable.format(service.token_env)}"}}
        else:
            token = {}
        return [Setting((*path, NAME), {**(more or {}), address: service.mcp_url, **token})]

    files = {Scope.USER: user, Scope.PROJECT: project}
    no_token = (
        f"{title} reads no token from the environment: if your service uses tokens, "
        "you add by hand the header that it needs."
    )
    return ConnectableAgent(
        title=title,
        checked=checked,
        places={
            scope: [AgentFile(name.split("|"), entries)] for scope, name in files.items() if name
        },
        home=Path.home,
        limitations=[note] if variable or token_field else [note, no_token],
        next_steps=[f"Start {title} again."],
        hints={
            scope: f"{title} has no file of its own for that. Use the other --scope."
            for scope, name in files.items()
            if not name
        },
    )


MCP_ROWS: Final[dict[str, ConnectableAgent]] = {
    "pi": _row(
        "pi",
        "package: pi-mcp-adapter 2.36.0",
        ".pi/agent/mcp.json",
        ".pi/mcp.json",
        ("mcpServers",),
        token_field="bearerTokenEnv",
        more={"requestTimeoutMs": TOOL_TIMEOUT * 1000},
        note="pi has MCP by an extension: install it with `pi install npm:pi-mcp-adapter`.",
    ),
    "kilo": _row(
        "Kilo",
        "run: kilo 7.7.9",
        ".config/kilo/kilo.jsonc|.config/kilo/kilo.json",
        ".kilo/kilo.jsonc|.kilo/kilo.json",
        ("mcp",),
        variable="{{env:{}}}",
        more={"type": "remote", "enabled": True, "oauth": False, "timeout": TOOL_TIMEOUT * 1000},
        note="Without `answerback bridge opencode`, its own questions and permission prompts stay in the terminal.",
    ),
    "qwen": _row(
        "Qwen Code",
        "run: `qwen mcp list` 0.24.4",
        ".qwen/settings.json",
        ".qwen/settings.json",
        ("mcpServers",),
        address="httpUrl",
        variable="${}",
        more={"timeout": TOOL_TIMEOUT * 1000, "trust": True},
    ),
    "kimi": _row(
        "Kimi Code",
        "documentation",
        ".kimi-code/mcp.json",
        ".kimi-code/mcp.json",
        ("mcpServers",),
        token_field="bearerTokenEnvVar",
        more={"toolTimeoutMs": TOOL_TIMEOUT * 1000},
    ),
    "amp": _row(
        "Amp",
        "documentation",
        ".config/amp/settings.json",
        ".amp/settings.json",
        ("amp.mcpServers",),
    ),
    "crush": _row(
        "Crush",
        "documentation",
        ".config/crush/crush.json",
        "crush.json",
        ("mcp",),
        variable="${}",
        more={"type": "http", "timeout": TOOL_TIMEOUT},
    ),
    "auggie": _row(
        "Auggie",
        "run: `auggie mcp list` 0.36.0",
        ".augment/settings.json",
        ".augment/settings.json",
        ("mcpServers",),
        variable=None,
        more={"type": "http"},
    ),
    "droid": _row(
        "Droid",
        "documentation",
        ".factory/mcp.json",
        ".factory/mcp.json",
        ("mcpServers",),
        variable=None,
        more={"type": "http"},
    ),
    "cline": _row(
        "Cline",
        "documentation",
        ".cline/data/settings/cline_mcp_settings.json",
        None,
        ("mcpServers",),
        variable=None,
        more={"type": "streamableHttp"},
    ),
    "roo": _row(
        "Roo Code",
        "documentation",
        None,
        ".roo/mcp.json",
        ("mcpServers",),
        variable="${{env:{}}}",
        more={"type": "streamable-http"},
    ),
    "zed": _row(
        "Zed",
        "documentation",
        ".config/zed/settings.json",
        ".zed/settings.json",
        ("context_servers",),
        variable=None,
    ),
    "junie": _row(
        "JetBrains Junie",
        "documentation",
        ".junie/mcp/mcp.json",
        ".junie/mcp/mcp.json",
        ("mcpServers",),
        variable=None,
    ),
}
