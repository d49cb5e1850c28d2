"""The settings that `answerback connect` writes for Kimi Code: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import MILLISECONDS, by_http, field, mcp_row
from answerback_hosts.kimi.about import ABOUT

AGENT: Final = mcp_row(
    ABOUT.title,
    ".kimi-code/mcp.json",
    by_http(toolTimeoutMs=MILLISECONDS),
    field("bearerTokenEnvVar"),
)
