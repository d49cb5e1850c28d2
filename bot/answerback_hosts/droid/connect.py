"""The settings that `answerback connect` writes for Droid: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import by_http, header, mcp_row
from answerback_hosts.droid.about import ABOUT

AGENT: Final = mcp_row(
    ABOUT.title,
    ".factory/mcp.json",
    by_http(type="http"),
    header("${{{}}}"),
)
