"""The settings that `answerback connect` writes for opencode."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.connectable_agent import (
    AgentFile,
    ConnectableAgent,
    Scope,
    ServiceConnection,
)
from answerback_agents.connect.hook_rows import RESTART, home_of
from answerback_agents.connect.mcp_row import TOOL_TIMEOUT
from answerback_agents.connect.settings_entries import NAME, Entry, Json, Setting
from answerback_hosts.opencode.about import ABOUT


def _opencode(service: ServiceConnection) -> list[Entry]:
    server = service.server(variable="{{env:{}}}")
    more: Json = {"enabled": True, "oauth": False, "timeout": TOOL_TIMEOUT * 1000}
    return [Setting(("mcp", NAME), {"type": "remote", **server, **more})]


_OPENCODE: Final = [AgentFile(["opencode.json", "opencode.jsonc"], _opencode)]


AGENT: Final = ConnectableAgent(
    title=ABOUT.title,
    places={Scope.USER: _OPENCODE, Scope.PROJECT: _OPENCODE},
    home=lambda: home_of("XDG_CONFIG_HOME", ".config")() / "opencode",
    limitations=[
        "Without `answerback bridge opencode`, its own questions and permission prompts stay in the terminal."
    ],
    next_steps=[
        RESTART,
        "For its own questions and permission prompts, start it with `opencode --port 4096`, and also run "
        "`answerback bridge opencode http://127.0.0.1:4096`.",
    ],
)
