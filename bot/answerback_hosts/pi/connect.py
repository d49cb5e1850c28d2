"""The settings that `answerback connect` writes for pi: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import MILLISECONDS, by_http, field, mcp_row
from answerback_hosts.pi.about import ABOUT

AGENT: Final = mcp_row(
    ABOUT.title,
    (".pi/agent/mcp.json", ".pi/mcp.json"),
    by_http(requestTimeoutMs=MILLISECONDS),
    field("bearerTokenEnv"),
    note="pi has MCP by an extension: install it with `pi install npm:pi-mcp-adapter`.",
)
