"""The settings that `answerback connect` writes for JetBrains Junie: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import by_command, mcp_row
from answerback_hosts.junie.about import ABOUT

AGENT: Final = mcp_row(ABOUT.title, ".junie/mcp/mcp.json", by_command)
