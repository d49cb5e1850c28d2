"""The settings that `answerback connect` writes for Roo Code: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import by_http, header, mcp_row
from answerback_hosts.roo.about import ABOUT

AGENT: Final = mcp_row(
    ABOUT.title,
    (None, ".roo/mcp.json"),
    by_http(type="streamable-http"),
    header("${{env:{}}}"),
)
