"""The settings that `answerback connect` writes for Cline: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import TOOL_TIMEOUT, by_http, mcp_row
from answerback_hosts.cline.about import ABOUT

AGENT: Final = mcp_row(
    ABOUT.title,
    (".cline/data/settings/cline_mcp_settings.json", None),
    by_http(type="streamableHttp", timeout=TOOL_TIMEOUT),
)
