"""The settings that `answerback connect` writes for Qwen Code: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import MILLISECONDS, by_http, header, mcp_row
from answerback_hosts.qwen.about import ABOUT

AGENT: Final = mcp_row(
    ABOUT.title,
    ".qwen/settings.json",
    by_http("httpUrl", timeout=MILLISECONDS, trust=True),
    header("${}"),
)
