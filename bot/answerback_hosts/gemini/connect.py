"""The settings that `answerback connect` writes for Gemini CLI."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.connectable_agent import ConnectableAgent, ServiceConnection
from answerback_agents.connect.hook_rows import (
    HOOK_TIMEOUT,
    KEEP_PROGRAM,
    LATE_ANSWERS_TIMEOUT,
    RESTART,
    command,
    group,
    home_of,
    same_in_both_scopes,
)
from answerback_agents.connect.mcp_row import TOOL_TIMEOUT
from answerback_agents.connect.settings_entries import NAME, Entry, Setting
from answerback_hosts.gemini.about import ABOUT


def _gemini(service: ServiceConnection) -> list[Entry]:
    server = service.server("httpUrl", "${}", timeout=TOOL_TIMEOUT * 1000, trust=True)
    return [
        Setting(("mcpServers", NAME), server),
        group(
            "BeforeTool",
            command(service, "gemini", HOOK_TIMEOUT * 1000),
            "^(ask_user|mcp_answerback_.+)$",
        ),
        group("BeforeAgent", command(service, "gemini", LATE_ANSWERS_TIMEOUT * 1000)),
    ]


AGENT: Final = ConnectableAgent(
    title=ABOUT.title,
    places=same_in_both_scopes(_gemini, "settings.json", ".gemini/settings.json"),
    home=lambda: home_of("GEMINI_CLI_HOME", "")() / ".gemini",
    limitations=[
        "Gemini CLI receives the answer to ask_user as the message of a blocked call.",
        "Its permission prompts stay in the terminal.",
        "Without a terminal (-p) it disables all tools named ask_user: its model has to use ask_user_question.",
    ],
    next_steps=[
        RESTART,
        "Gemini CLI only reads .gemini/settings.json in folders that you trust.",
        KEEP_PROGRAM,
    ],
)
