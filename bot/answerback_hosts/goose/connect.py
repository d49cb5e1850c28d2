"""The settings that `answerback connect` writes for Goose: our tools by MCP, and nothing else."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.mcp_row import TOOL_TIMEOUT, by_http, header, mcp_row
from answerback_agents.connect.settings_entries import NAME
from answerback_agents.connect.yaml_edit import YamlFormat
from answerback_hosts.goose.about import ABOUT

AGENT: Final = mcp_row(
    ABOUT.title,
    (".config/goose/config.yaml", None),
    by_http("uri", type="streamable_http", name=NAME, enabled=True, timeout=TOOL_TIMEOUT),
    lambda variable: {**header("${{{}}}")(variable), "env_keys": [variable]},
    path=("extensions",),
    form=YamlFormat(),
)
