"""The ids in the `_meta` of Imagined's MCP requests."""

from __future__ import annotations

from typing import Final

from answerback_base.mcp_meta import McpMeta

MCP_META: Final = McpMeta(
    session="imagined.example/session",
    call="imagined.example/call",
    others=("imagined.example/turn",),
)
