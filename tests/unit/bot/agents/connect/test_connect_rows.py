"""The rows of `answerback connect`: how each agent reads a token, where it asks, and what the documentation says."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerback_agents.connect.connectable_agent import Scope, ServiceConnection
from answerback_agents.connect.known_agents import AGENTS
from tests.meta.project import ROOT
from tests.unit.bot.agents.connect.test_connect import Connect, connect, home, project

__all__ = ["connect", "home", "project"]


def test_the_documentation_has_a_row_for_each_agent_and_how_it_was_checked() -> None:
    page = (ROOT / "docs" / "agents.md").read_text()
    for name, known in AGENTS.items():
        files = [place.names[0] for places in known.places.values() for place in places]
        [row] = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert known.title in row
        assert re.search(r"\| (run: |package: |documentation)[^|]* \|$", row)
        assert any(file in row for file in files)


@pytest.mark.rule("URGENCY-1")
def test_how_urgent_it_is_goes_into_the_address_the_hooks_and_the_command(
    connect: Connect, home: Path
) -> None:
    connect("codex", "--yes", "--urgency", "low")
    codex = tomllib.loads((home / ".codex" / "config.toml").read_text())
    assert codex["mcp_servers"]["answerback"]["url"] == "http://127.0.0.1:8420/mcp?urgency=low"
    assert codex["hooks"]["PreToolUse"][0]["hooks"][0]["command"].endswith(" --urgency low")
    connect("junie", "--yes", "--to", "deploys", "--urgency", "high")
    server = json.loads((home / ".junie/mcp/mcp.json").read_text())["mcpServers"]["answerback"]
    assert server["args"][-4:] == ["--to", "deploys", "--urgency", "high"]
    connect("codex", "--remove", "--yes")
    assert not (home / ".codex" / "config.toml").exists()


@pytest.mark.rule("FILE-40")
def test_that_nothing_is_uploaded_goes_into_the_hooks_and_the_command(
    connect: Connect, home: Path
) -> None:
    connect("codex", "--yes", "--no-upload")
    codex = tomllib.loads((home / ".codex" / "config.toml").read_text())
    assert codex["hooks"]["PreToolUse"][0]["hooks"][0]["command"].endswith(" --no-upload")
    connect("junie", "--yes", "--no-upload")
    server = json.loads((home / ".junie/mcp/mcp.json").read_text())["mcpServers"]["answerback"]
    assert server["args"][-1] == "--no-upload"


def test_where_to_ask_goes_into_the_address_and_the_hooks(connect: Connect, home: Path) -> None:
    connect("codex", "--yes", "--to", "slack:C1")
    codex = tomllib.loads((home / ".codex" / "config.toml").read_text())
    assert codex["mcp_servers"]["answerback"]["url"] == "http://127.0.0.1:8420/mcp?to=slack%3AC1"
    assert codex["hooks"]["PreToolUse"][0]["hooks"][0]["command"].endswith(" --to slack:C1")
    connect("claude", "--yes", "--to", "deploys")
    claude = (home / ".claude" / "settings.json").read_text()
    assert 'answerback hook claude --to deploys"' in claude
    connect("claude", "--remove", "--yes")
    assert not (home / ".claude" / "settings.json").exists()


@pytest.mark.parametrize(
    ("agent", "place", "field"),
    [
        ("kimi", ".kimi-code/mcp.json", {"bearerTokenEnvVar": "MINE"}),
        ("crush", ".config/crush/crush.json", {"headers": {"Authorization": "Bearer $MINE"}}),
        ("droid", ".factory/mcp.json", {"headers": {"Authorization": "Bearer ${MINE}"}}),
        ("zed", ".config/zed/settings.json", {}),
    ],
)
def test_each_row_says_how_its_agent_reads_a_token(
    connect: Connect, home: Path, agent: str, place: str, field: dict[str, Any]
) -> None:
    printed = connect(agent, "--yes", "--token-env", "MINE").output
    [servers] = json.loads((home / place).read_text()).values()
    without_token = AGENTS[agent].places[Scope.USER][0].entries(ServiceConnection())
    assert isinstance(without_token[0].value, dict)
    assert servers["answerback"] == {**without_token[0].value, **field}
    assert ("you add the token by hand" in printed) == (field == {})


def test_rows_in_toml_and_yaml_say_where_the_token_is(connect: Connect, home: Path) -> None:
    connect("vibe", "--yes", "--token-env", "MINE")
    [vibe] = tomllib.loads((home / ".vibe" / "config.toml").read_text())["mcp_servers"]
    assert vibe == {
        "name": "answerback",
        "transport": "streamable-http",
        "tool_timeout_sec": 3600,
        "url": "http://127.0.0.1:8420/mcp",
        "api_key_env": "MINE",
    }
    connect("grok", "--yes", "--token-env", "MINE")
    grok = tomllib.loads((home / ".grok" / "config.toml").read_text())["mcp_servers"]["answerback"]
    assert grok["headers"] == {"Authorization": "Bearer ${MINE}"}
    hooks = json.loads((home / ".grok" / "hooks" / "answerback.json").read_text())["hooks"]
    [asks] = hooks["PreToolUse"]
    assert asks["matcher"] == "ask_user_question"
    assert asks["hooks"][0]["command"].endswith(" hook grok --token-env MINE")
    assert [*hooks] == ["PreToolUse", "PostToolUse"]
    connect("goose", "--yes", "--token-env", "MINE")
    text = (home / ".config" / "goose" / "config.yaml").read_text()
    goose = yaml.safe_load(text)["extensions"]["answerback"]
    assert goose["headers"] == {"Authorization": "Bearer ${MINE}"}
    assert goose["env_keys"] == ["MINE"]
    for agent in ("vibe", "grok", "goose"):
        connect(agent, "--remove", "--yes")
    assert not [path for path in home.rglob("*") if path.is_file()]


def test_an_agent_without_http_starts_our_server_itself(connect: Connect, home: Path) -> None:
    connect("junie", "--yes", "--url", "http://127.0.0.1:9999", "--to", "deploys")
    server = json.loads((home / ".junie/mcp/mcp.json").read_text())["mcpServers"]["answerback"]
    assert Path(server["command"]).name == "answerback"
    assert server["args"] == ["mcp", "--url", "http://127.0.0.1:9999", "--to", "deploys"]


def test_a_scope_that_an_agent_has_not_is_refused(connect: Connect) -> None:
    assert "Use the other --scope" in connect("roo", "--scope", "user", code=2).output
    assert ".roo/mcp.json" in connect("roo", "--print").output
    assert "cline_mcp_settings.json" in connect("cline", "--scope", "project", "--print").output
