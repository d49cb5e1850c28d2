"""The command about numbers."""

from __future__ import annotations

from typing import Final

from answerback_agents.cli.command import Command

STATS: Final = Command(
    "stats",
    "Operate",
    70,
    "Print how many questions agents asked, how they ended, and how long agents waited.",
    "answerback_numbers.cli.stats",
)
