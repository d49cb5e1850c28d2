"""The settings that `answerback connect` writes for Copilot CLI."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.connectable_agent import (
    AgentFile,
    ConnectableAgent,
    Scope,
    ServiceConnection,
)
from answerback_agents.connect.hook_rows import (
    HOOK_TIMEOUT,
    KEEP_PROGRAM,
    LATE_ANSWERS_TIMEOUT,
    RESTART,
    home_of,
)
from answerback_agents.connect.settings_entries import NAME, Entry, Json, ListItem, Setting
from answerback_hosts.copilot.about import ABOUT


def _copilot_server(service: ServiceConnection) -> list[Entry]:
    server = service.server(tools=["*"])
    return [Setting(("mcpServers", NAME), {"type": "http", **server})]


def _copilot_hooks(service: ServiceConnection) -> list[Entry]:
    command: Json = {"type": "command", "bash": service.hook_command("copilot")}
    return [
        ListItem(("hooks", "permissionRequest"), {**command, "timeoutSec": HOOK_TIMEOUT}),
        ListItem(("hooks", "userPromptSubmitted"), {**command, "timeoutSec": LATE_ANSWERS_TIMEOUT}),
    ]


def _copilot_hook_file(service: ServiceConnection) -> list[Entry]:
    return [Setting(("version",), 1), *_copilot_hooks(service)]


AGENT: Final = ConnectableAgent(
    title=ABOUT.title,
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
    home=home_of("COPILOT_HOME", ".copilot"),
    limitations=[
        "Only Copilot's host program can answer its own ask_user: its model has to use the MCP tools.",
        "Permission can only be given once or denied.",
    ],
    next_steps=[RESTART, KEEP_PROGRAM],
)
