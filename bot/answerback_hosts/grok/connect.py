"""The settings that `answerback connect` writes for Grok."""

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
    group,
)
from answerback_agents.connect.mcp_row import TOOL_TIMEOUT
from answerback_agents.connect.settings_entries import NAME, Entry, Setting
from answerback_agents.connect.toml_edit import TomlFormat
from answerback_hosts.grok.about import ABOUT


def _grok(service: ServiceConnection) -> list[Entry]:
    server = service.server(tool_timeout_sec=TOOL_TIMEOUT)
    return [Setting(("mcp_servers", NAME), server)]


def _grok_hooks(service: ServiceConnection) -> list[Entry]:
    return [
        group("PreToolUse", command(service, "grok", HOOK_TIMEOUT), "ask_user_question"),
        group("PostToolUse", command(service, "grok", LATE_ANSWERS_TIMEOUT)),
    ]


_GROK: Final = [
    AgentFile([".grok/config.toml"], _grok, TomlFormat()),
    AgentFile([".grok/hooks/answerback.json"], _grok_hooks),
]


AGENT: Final = ConnectableAgent(
    title=ABOUT.title,
    places={Scope.USER: _GROK, Scope.PROJECT: _GROK},
    home=Path.home,
    limitations=[
        "Grok receives the answer to ask_user_question as the message of a blocked call.",
        "Its permission prompts stay in its window.",
    ],
    next_steps=[
        RESTART,
        "Grok only runs a project's hooks, and starts its servers, once you trust the project: run /hooks-trust.",
        KEEP_PROGRAM,
    ],
)
