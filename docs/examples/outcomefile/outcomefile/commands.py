"""The functions that the entry points of commands name."""

from __future__ import annotations

from answerback_agents.cli.command import Command

FOLLOW = Command(
    name="follow",
    group="Operate",
    order=100,
    help="Follow a file of outcomes.",
    module="outcomefile.follow",
)
