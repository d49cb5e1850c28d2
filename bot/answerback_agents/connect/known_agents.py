"""The agents that can be connected: those whose host has a row in its folder, and those that get our tools alone.

Shapes: the releases named in docs/agents.md, and each host's documentation.
"""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.connectable_agent import ConnectableAgent
from answerback_agents.connect.mcp_rows import MCP_ROWS
from answerback_base.hosts import load_parts

AGENTS: Final[dict[str, ConnectableAgent]] = {
    **{name: part.AGENT for name, part in load_parts("connect").items()},
    **MCP_ROWS,
}
"""The agents that `answerback connect` supports."""
