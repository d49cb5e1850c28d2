"""The agents that get our tools by MCP, and nothing else: a row each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from answerback_agents.connect.connectable_agent import (
    AgentFile,
    ConnectableAgent,
    Scope,
    ServiceConnection,
)
from answerback_agents.connect.jsonc_edit import JsoncFormat
from answerback_agents.connect.settings_entries import NAME, Entry, Format, Json, ListItem, Setting
from answerback_agents.connect.toml_edit import TomlFormat
from answerback_agents.connect.yaml_edit import YamlFormat

TOOL_TIMEOUT: Final = 3_600
"""Seconds that a call of the MCP tools may take; the tools return earlier on their own."""
_Token = Callable[[str], Json]
"""How an agent is told which environment variable has the token."""


def _header(syntax: str) -> _Token:
    return lambda variable: {"headers": {"Authorization": f"Bearer {syntax.format(variable)}"}}


def _field(name: str) -> _Token:
    return lambda variable: {name: variable}


def _by_http(key: str = "url", **more: JsonValue) -> Callable[[ServiceConnection], Json]:
    return lambda service: {**more, key: service.mcp_url}


def _by_command(service: ServiceConnection) -> Json:
    to: list[JsonValue] = [] if service.to is None else ["--to", service.to]
    return {"command": service.program, "args": ["mcp", "--url", service.url, *to]}


def _row(
    title: str,
    files: str | tuple[str | None, str | None],
    server: Callable[[ServiceConnection], Json],
    token: _Token | None = None,
    *,
    path: tuple[str, ...] = ("mcpServers",),
    form: Format | None = None,
    listed: bool = False,
    note: str = "Its own questions and permission prompts stay in its window.",
    next_step: str = "Restart {} if it is running: it reads this file when it starts.",
    hint: str = "{} has no separate file for that. Use the other --scope.",
) -> ConnectableAgent:
    """Return an agent that gets our tools by MCP, and nothing else.

    Args:
        files: the user's file, in the home folder, and the project's; or one name for both.
        token: None: it reads no token from the environment.
        path: where the file has its servers.
        listed: whether its servers are a list, each with its name.
        hint: what to do in place of a scope that has no file.
    """

    def entries(service: ServiceConnection) -> list[Entry]:
        given = token(service.token_env) if token and service.token_env is not None else {}
        value = {**server(service), **given}
        if listed:
            return [ListItem(path, {"name": NAME, **value})]
        return [Setting((*path, NAME), value)]

    names = dict(zip(Scope, (files, files) if isinstance(files, str) else files, strict=True))
    no_token = (
        f"{title} reads no token from the environment: if your service uses tokens, "
        "you add the token by hand."
    )
    return ConnectableAgent(
        title=title,
        format=form or JsoncFormat(),
        places={
            scope: [AgentFile(name.split("|"), entries)] for scope, name in names.items() if name
        },
        home=Path.home,
        limitations=[note] if token else [note, no_token],
        next_steps=[next_step.format(title)],
        hints={scope: hint.format(title) for scope, name in names.items() if not name},
    )


_MILLISECONDS: Final = TOOL_TIMEOUT * 1000

MCP_ROWS: Final[dict[str, ConnectableAgent]] = {
    "vscode": _row(
        "Visual Studio Code",
        (None, ".vscode/mcp.json"),
        _by_http(type="http"),
        _header("${{env:{}}}"),
        path=("servers",),
        note="Its own questions (vscode_askQuestions) and permission prompts stay in the window.",
        next_step="In the window, start the server answerback with `MCP: List Servers`.",
        hint="{} keeps the user's servers in each profile. Run its command "
        "`MCP: Open User Configuration`, and paste what --print shows.",
    ),
    "cursor": _row(
        "Cursor",
        ".cursor/mcp.json",
        _by_http(),
        _header("${{env:{}}}"),
        note="Its own questions and permission prompts stay in the window.",
        next_step="Enable the server answerback in the settings of Cursor, under MCP.",
    ),
    "pi": _row(
        "pi",
        (".pi/agent/mcp.json", ".pi/mcp.json"),
        _by_http(requestTimeoutMs=_MILLISECONDS),
        _field("bearerTokenEnv"),
        note="pi has MCP by an extension: install it with `pi install npm:pi-mcp-adapter`.",
    ),
    "kilo": _row(
        "Kilo",
        (".config/kilo/kilo.jsonc|.config/kilo/kilo.json", ".kilo/kilo.jsonc|.kilo/kilo.json"),
        _by_http(type="remote", enabled=True, oauth=False, timeout=_MILLISECONDS),
        _header("{{env:{}}}"),
        path=("mcp",),
        note="Without `answerback bridge opencode`, its own questions and permission prompts stay in the terminal.",
    ),
    "qwen": _row(
        "Qwen Code",
        ".qwen/settings.json",
        _by_http("httpUrl", timeout=_MILLISECONDS, trust=True),
        _header("${}"),
    ),
    "vibe": _row(
        "Mistral Vibe",
        ".vibe/config.toml",
        _by_http(transport="streamable-http", tool_timeout_sec=TOOL_TIMEOUT),
        _field("api_key_env"),
        path=("mcp_servers",),
        form=TomlFormat(),
        listed=True,
    ),
    "goose": _row(
        "Goose",
        (".config/goose/config.yaml", None),
        _by_http("uri", type="streamable_http", name=NAME, enabled=True, timeout=TOOL_TIMEOUT),
        lambda variable: {**_header("${{{}}}")(variable), "env_keys": [variable]},
        path=("extensions",),
        form=YamlFormat(),
    ),
    "kimi": _row(
        "Kimi Code",
        ".kimi-code/mcp.json",
        _by_http(toolTimeoutMs=_MILLISECONDS),
        _field("bearerTokenEnvVar"),
    ),
    "amp": _row(
        "Amp",
        (".config/amp/settings.json", ".amp/settings.json"),
        _by_http(),
        _header("${{{}}}"),
        path=("amp.mcpServers",),
    ),
    "crush": _row(
        "Crush",
        (".config/crush/crush.json", "crush.json"),
        _by_http(type="http", timeout=TOOL_TIMEOUT),
        _header("${}"),
        path=("mcp",),
    ),
    "auggie": _row(
        "Auggie",
        ".augment/settings.json",
        _by_http(type="http"),
    ),
    "droid": _row(
        "Droid",
        ".factory/mcp.json",
        _by_http(type="http"),
        _header("${{{}}}"),
    ),
    "cline": _row(
        "Cline",
        (".cline/data/settings/cline_mcp_settings.json", None),
        _by_http(type="streamableHttp", timeout=TOOL_TIMEOUT),
    ),
    "roo": _row(
        "Roo Code",
        (None, ".roo/mcp.json"),
        _by_http(type="streamable-http"),
        _header("${{env:{}}}"),
    ),
    "zed": _row(
        "Zed",
        (".config/zed/settings.json", ".zed/settings.json"),
        _by_http(),
        path=("context_servers",),
    ),
    "junie": _row("JetBrains Junie", ".junie/mcp/mcp.json", _by_command),
}
