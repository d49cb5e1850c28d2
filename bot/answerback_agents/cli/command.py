"""The door for commands of the program `answerback`: a distribution names each in an entry-point group.

In its ``pyproject.toml``::

    [project.entry-points."answerback.commands"]
    follow = "outcomefile.commands:FOLLOW"

The object is a `Command`. It is loaded for the list of commands, so its module must import next to nothing; the module
with the command's code is imported when the command is called.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

COMMANDS: Final = "answerback.commands"
"""The entry-point group."""
GROUPS: Final = (
    "Start",
    "Ask and answer",
    "Try a form",
    "Who may ask and answer",
    "Operate",
    "Run by agents, editors and MCP clients",
)
"""The groups of our own commands, in the order of the list. Other groups come after them."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the program."""

    name: str
    """The name of its entry point, with ``_`` between words."""
    group: str
    order: int
    """Its position in its group: lower comes first."""
    help: str
    """The first sentence of its help."""
    module: str
    """The module with a function ``command``, or with a Typer ``app`` of several commands."""
    extra: tuple[str, tuple[str, ...]] = ("", ())
    """The extra of the distribution `answerback` that it needs, and the packages that the extra installs."""

    @property
    def typed(self) -> str:
        """Return its name as people type it, with ``-`` between words."""
        return self.name.replace("_", "-")
