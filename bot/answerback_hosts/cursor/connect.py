"""The settings that `answerback connect` writes for Cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from answerback_agents.connect.connectable_agent import AgentFile, ServiceConnection
from answerback_agents.connect.hook_rows import HOOK_TIMEOUT, KEEP_PROGRAM, LATE_ANSWERS_TIMEOUT
from answerback_agents.connect.mcp_row import by_http, header, mcp_row
from answerback_agents.connect.settings_entries import Entry, ListItem, Setting
from answerback_hosts.cursor.about import ABOUT

_ROW: Final = mcp_row(
    ABOUT.title,
    ".cursor/mcp.json",
    by_http(),
    header("${{env:{}}}"),
    note="Its own questions and its prompts about edits stay in the window.",
    next_step="Enable the server answerback in the settings of Cursor, under MCP.",
)


def _hooks(service: ServiceConnection) -> Sequence[Entry]:
    command = service.hook_command("cursor")
    asks, late = (
        {"command": command, "timeout": each} for each in (HOOK_TIMEOUT, LATE_ANSWERS_TIMEOUT)
    )
    return [
        Setting(("version",), 1),
        # Without it, Cursor runs a command whose hook dies: https://cursor.com/docs/agent/hooks
        ListItem(("hooks", "beforeShellExecution"), {**asks, "failClosed": True}),
        ListItem(("hooks", "stop"), {**late}),
    ]


AGENT: Final = replace(
    _ROW,
    places={
        scope: [*files, AgentFile([".cursor/hooks.json"], _hooks)]
        for scope, files in _ROW.places.items()
    },
    limitations=[
        *_ROW.limitations,
        "Its program for the terminal, cursor-agent, also asks in its own window about what people have allowed.",
    ],
    next_steps=[*_ROW.next_steps, KEEP_PROGRAM],
)
