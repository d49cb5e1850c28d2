"""The settings that `answerback connect` writes for Antigravity CLI."""

from __future__ import annotations

from pathlib import Path
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
    command,
)
from answerback_agents.connect.settings_entries import NAME, Entry, Json, Setting
from answerback_hosts.antigravity.about import ABOUT

_ASKED: Final = "run_command|write_to_file|replace_file_content|multi_replace_file_content"
"""The tools that change something; others, such as those that read, stay with Antigravity's own settings."""


def _server(service: ServiceConnection) -> list[Entry]:
    return [Setting(("mcpServers", NAME), {"serverUrl": service.mcp_url})]


def _hooks(service: ServiceConnection) -> list[Entry]:
    asks: Json = {
        "matcher": f"^({_ASKED}|ask_question)$",
        "hooks": [command(service, "antigravity", HOOK_TIMEOUT)],
    }
    late = command(service, "antigravity", LATE_ANSWERS_TIMEOUT)
    return [Setting((NAME,), {"PreToolUse": [asks], "PreInvocation": [late]})]


def _files(folder: str) -> list[AgentFile]:
    return [
        AgentFile([f"{folder}/mcp_config.json"], _server),
        AgentFile([f"{folder}/hooks.json"], _hooks),
    ]


AGENT: Final = ConnectableAgent(
    title=ABOUT.title,
    places={Scope.USER: _files(".gemini/config"), Scope.PROJECT: _files(".agents")},
    home=Path.home,
    limitations=[
        "Antigravity CLI receives the answer to ask_question as the message of a blocked call.",
        "Antigravity CLI reads no token from the environment for its MCP servers: if your service uses tokens, "
        "you add the token by hand.",
        "Up to release 1.1.2 it asks in its own window, too, about what people have allowed.",
    ],
    next_steps=[RESTART, KEEP_PROGRAM],
)
