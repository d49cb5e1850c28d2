"""The command about people who answer under their own names."""

from __future__ import annotations

from typing import Final

from answerback_agents.cli.command import Command

PERSON: Final = Command(
    "person",
    "Who may ask and answer",
    30,
    "Manage personal links, which let people answer on the page under their own names.",
    "answerback_teams.cli.person",
)
