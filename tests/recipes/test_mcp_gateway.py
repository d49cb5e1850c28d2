"""The gateway in front of an MCP server, as the page has it: what the client runs, and the policy."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from answerback_agents.cli.main import app
from tests.documentation.blocks import block_with

_PAGE = "docs/agents/mcp-gateway.md"
_TOOLS = [
    {"name": "get_issue", "inputSchema": {"type": "object"}},
    {"name": "create_issue", "inputSchema": {"type": "object"}},
    {"name": "delete_repo", "inputSchema": {"type": "object"}},
    {"name": "merge", "inputSchema": {"type": "object"}},
]


def test_the_clients_command_and_the_policy_are_understood(tmp_path: Path) -> None:
    entry = json.loads(block_with("mcpServers", _PAGE))["mcpServers"]["github"]
    assert entry["command"] == "answerback"
    policy = tmp_path / "mcp.toml"
    policy.write_text(block_with("[servers.github]", _PAGE), encoding="utf-8")
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(_TOOLS), encoding="utf-8")
    behind = entry["args"].index("--")
    arguments = [str(policy) if word.endswith(".toml") else word for word in entry["args"][:behind]]
    done = CliRunner().invoke(app, [*arguments, "--dry-run", str(tools), "--json"])
    assert done.exit_code == 0, done.output
    decided = json.loads(done.stdout)
    assert {each["tool"]: each["decision"] for each in decided} == {
        "get_issue": "pass",
        "create_issue": "ask",
        "delete_repo": "deny",
        "merge": "ask",
    }
