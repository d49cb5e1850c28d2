"""The settings that `answerback connect` writes for Zed: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import by_http, mcp_row
from answerback_hosts.zed.about import ABOUT

AGENT: Final = mcp_row(
    ABOUT.title,
    (".config/zed/settings.json", ".zed/settings.json"),
    by_http(),
    path=("context_servers",),
)
