"""The settings that `answerback connect` writes for Kilo: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import MILLISECONDS, by_http, header, mcp_row
from answerback_hosts.kilo.about import ABOUT

AGENT: Final = mcp_row(
    ABOUT.title,
    (".config/kilo/kilo.jsonc|.config/kilo/kilo.json", ".kilo/kilo.jsonc|.kilo/kilo.json"),
    by_http(type="remote", enabled=True, oauth=False, timeout=MILLISECONDS),
    header("{{env:{}}}"),
    path=("mcp",),
    note="Without `answerback bridge opencode`, its own questions and permission prompts stay in the terminal.",
)
