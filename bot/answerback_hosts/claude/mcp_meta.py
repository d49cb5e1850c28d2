"""The ids in the `_meta` of Claude Code's MCP requests."""

from __future__ import annotations

from typing import Final

from answerback_base.mcp_meta import McpMeta

MCP_META: Final = McpMeta(call="claudecode/toolUseId")
