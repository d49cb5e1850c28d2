"""The row of an agent that gets our tools by MCP, and nothing else."""

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

TOOL_TIMEOUT: Final = 3_600
"""Seconds that a call of the MCP tools may take; the tools return earlier on their own."""
_Token = Callable[[str], Json]
"""Tells an agent, in its configuration, which environment variable has the token."""


def header(syntax: str) -> _Token:
    """Return a token that stands in a header, in the host's syntax for an environment variable."""
    return lambda variable: {"headers": {"Authorization": f"Bearer {syntax.format(variable)}"}}


def field(name: str) -> _Token:
    """Return a token whose environment variable a field of the host names."""
    return lambda variable: {name: variable}


def by_http(key: str = "url", **more: JsonValue) -> Callable[[ServiceConnection], Json]:
    """Return a server that the host calls itself; ``key`` is its field for the address."""
    return lambda service: {**more, key: service.mcp_url}


def by_command(service: ServiceConnection) -> Json:
    """Return a server that the host starts, where it calls none by HTTP."""
    return {"command": service.program, "args": ["mcp", "--url", service.url, *service.options]}


def mcp_row(
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


MILLISECONDS: Final = TOOL_TIMEOUT * 1000
