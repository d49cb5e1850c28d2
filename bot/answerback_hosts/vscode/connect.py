"""The settings that `answerback connect` writes for Visual Studio Code: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import by_http, header, mcp_row
from answerback_hosts.vscode.about import ABOUT

AGENT: Final = mcp_row(
    ABOUT.title,
    (None, ".vscode/mcp.json"),
    by_http(type="http"),
    header("${{env:{}}}"),
    path=("servers",),
    note="Its own questions (vscode_askQuestions) and permission prompts stay in the window.",
    next_step="In the window, start the server answerback with `MCP: List Servers`.",
    hint="{} keeps the user's servers in each profile. Run its command "
    "`MCP: Open User Configuration`, and paste what --print shows.",
)
