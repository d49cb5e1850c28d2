"""The settings that `answerback connect` writes for Crush: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import TOOL_TIMEOUT, by_http, header, mcp_row
from answerback_hosts.crush.about import ABOUT

AGENT: Final = mcp_row(
    ABOUT.title,
    (".config/crush/crush.json", "crush.json"),
    by_http(type="http", timeout=TOOL_TIMEOUT),
    header("${}"),
    path=("mcp",),
)
