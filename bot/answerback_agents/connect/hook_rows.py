"""Shared by the rows of agents with hooks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from answerback_agents.connect.connectable_agent import AgentFile, Scope, ServiceConnection
from answerback_agents.connect.settings_entries import Entry, Json, ListItem

HOOK_TIMEOUT: Final = 86_400
"""Seconds for which a host waits for a hook that asks a person."""
LATE_ANSWERS_TIMEOUT: Final = 10
"""Seconds for a hook that only fetches late answers."""


def home_of(variable: str, default: str) -> Callable[[], Path]:
    def folder() -> Path:
        value = os.environ.get(variable)
        return Path(value) if value else Path.home() / default

    return folder


def command(service: ServiceConnection, agent: str, timeout: int) -> Json:
    return {"type": "command", "command": service.hook_command(agent), "timeout": timeout}


def group(event: str, handler: Json, matcher: str | None = None) -> ListItem:
    matching: Json = {} if matcher is None else {"matcher": matcher}
    return ListItem(("hooks", event), {**matching, "hooks": [handler]})


def same_in_both_scopes(
    entries: Callable[[ServiceConnection], Sequence[Entry]], user: str, project: str
) -> dict[Scope, Sequence[AgentFile]]:
    return {
        Scope.USER: [AgentFile([user], entries)],
        Scope.PROJECT: [AgentFile([project], entries)],
    }


RESTART: Final = "Restart {title} if it is running: it reads this file when it starts."
KEEP_PROGRAM: Final = (
    "The hooks run {program}: do not move that program, and keep the service running."
)
