"""The settings that `answerback connect` writes for Claude Code."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.connectable_agent import ConnectableAgent, ServiceConnection
from answerback_agents.connect.hook_rows import (
    HOOK_TIMEOUT,
    LATE_ANSWERS_TIMEOUT,
    RESTART,
    command,
    group,
    home_of,
    same_in_both_scopes,
)
from answerback_agents.connect.settings_entries import Entry, Json
from answerback_hosts.claude.about import ABOUT


def _claude(service: ServiceConnection) -> list[Entry]:
    """Commands, though Claude Code has HTTP hooks too: a command waits for a service that restarts."""
    asks: Json = {**command(service, "claude", HOOK_TIMEOUT), "onFailure": "block"}
    late = command(service, "claude", LATE_ANSWERS_TIMEOUT)
    return [
        group("PreToolUse", asks, "AskUserQuestion"),
        group("PermissionRequest", asks),
        group("Elicitation", asks),
        group("UserPromptSubmit", late),
        group("Stop", late),
    ]


AGENT: Final = ConnectableAgent(
    title=ABOUT.title,
    places=same_in_both_scopes(_claude, "settings.json", ".claude/settings.json"),
    home=home_of("CLAUDE_CONFIG_DIR", ".claude"),
    limitations=[
        "In print mode (-p), Claude Code only has AskUserQuestion if something decides about permissions.",
    ],
    next_steps=[
        RESTART,
        "To give the model Answerback's own tools too, such as ask_user, add the MCP server: "
        "claude mcp add --transport http answerback {url}/mcp{header}",
    ],
    token_option=" --header 'Authorization: Bearer ${{{}}}'",  # it stores the variable's name
)
