"""The settings that `answerback connect` writes for Mistral Vibe: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import TOOL_TIMEOUT, by_http, field, mcp_row
from answerback_agents.connect.toml_edit import TomlFormat
from answerback_hosts.vibe.about import ABOUT

AGENT: Final = mcp_row(
    ABOUT.title,
    ".vibe/config.toml",
    by_http(transport="streamable-http", tool_timeout_sec=TOOL_TIMEOUT),
    field("api_key_env"),
    path=("mcp_servers",),
    form=TomlFormat(),
    listed=True,
)
