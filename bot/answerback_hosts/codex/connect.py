"""The settings that `answerback connect` writes for Codex."""

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
from answerback_agents.connect.settings_entries import NAME, Entry, Json, Setting
from answerback_agents.connect.toml_edit import TomlFormat
from answerback_hosts.codex.about import ABOUT


def _codex(service: ServiceConnection) -> list[Entry]:
    server: Json = {"url": service.mcp_url, "tool_timeout_sec": TOOL_TIMEOUT}
    server["default_tools_approval_mode"] = "approve"  # asking people needs no permission from them
    if service.token_env is not None:
        server["bearer_token_env_var"] = service.token_env
    asks = command(service, "codex", HOOK_TIMEOUT)
    return [
        Setting(("mcp_servers", NAME), server),
        group("PreToolUse", asks, "request_user_input"),
        group("PermissionRequest", asks),
        group("UserPromptSubmit", command(service, "codex", LATE_ANSWERS_TIMEOUT)),
    ]


AGENT: Final = ConnectableAgent(
    title=ABOUT.title,
    places=same_in_both_scopes(_codex, "config.toml", ".codex/config.toml"),
    home=home_of("CODEX_HOME", ".codex"),
    format=TomlFormat(),
    limitations=[
        "Codex receives the answer to request_user_input as the message of a blocked call.",
        "Permission can only be given once or denied: no rules, no changed arguments, and End Turn just denies.",
    ],
    next_steps=[
        RESTART,
        "Codex does not run a new hook until you trust it: trust the three hooks of Answerback when it asks.",
        "Codex only reads .codex/config.toml in projects that you trust.",
        KEEP_PROGRAM,
    ],
)
