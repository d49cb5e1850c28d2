"""The settings that `answerback connect` writes for Auggie: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import by_http, mcp_row
from answerback_hosts.auggie.about import ABOUT

AGENT: Final = mcp_row(
    ABOUT.title,
    ".augment/settings.json",
    by_http(type="http"),
)
