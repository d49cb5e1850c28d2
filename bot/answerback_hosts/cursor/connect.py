"""What `answerback connect` writes for Cursor: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import by_http, header, mcp_row
from answerback_hosts.cursor.about import ABOUT

AGENT: Final = mcp_row(
    ABOUT.title,
    ".cursor/mcp.json",
    by_http(),
    header("${{env:{}}}"),
    note="Its own questions and permission prompts stay in the window.",
    next_step="Enable the server answerback in the settings of Cursor, under MCP.",
)
