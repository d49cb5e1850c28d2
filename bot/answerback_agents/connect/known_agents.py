"""The agents that can be connected: those whose host has a row in its folder.

Shapes: the releases named in docs/agents.md, and each host's documentation.
"""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.connectable_agent import ConnectableAgent
from answerback_base.hosts import load_parts

AGENTS: Final[dict[str, ConnectableAgent]] = {
    name: part.AGENT for name, part in load_parts("connect").items()
}
"""The agents that `answerback connect` supports."""
