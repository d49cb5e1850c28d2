"""The settings that `answerback connect` writes for Amp: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import by_http, header, mcp_row
from answerback_hosts.amp.about import ABOUT

AGENT: Final = mcp_row(
    ABOUT.title,
    (".config/amp/settings.json", ".amp/settings.json"),
    by_http(),
    header("${{{}}}"),
    path=("amp.mcpServers",),
)
