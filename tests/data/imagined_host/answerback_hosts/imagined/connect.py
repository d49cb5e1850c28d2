"""The configuration that `answerback connect` writes for Imagined."""

from __future__ import annotations

from typing import Final

from answerback_agents.connect.connectable_agent import ConnectableAgent, ServiceConnection
from answerback_agents.connect.hook_rows import (
    HOOK_TIMEOUT,
    command,
    group,
    home_of,
    same_in_both_scopes,
)
from answerback_agents.connect.settings_entries import Entry


def _entries(service: ServiceConnection) -> list[Entry]:
    return [group("permission", command(service, "imagined", HOOK_TIMEOUT))]


AGENT: Final = ConnectableAgent(
    title="Imagined",
    places=same_in_both_scopes(_entries, "settings.json", ".imagined/settings.json"),
    home=home_of("IMAGINED_HOME", ".imagined"),
    limitations=[],
    next_steps=[],
)
