"""Commands that people give in a chat: ``/answerback link CODE`` and its like, each answered privately.

A feature adds a `Command`; every chat surface then offers it. Proved by `answerback_testing.surface_commands`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.core.person import Person

logger = logging.getLogger(__name__)

COMMAND: Final = "answerback"
"""The name that people type after the slash, before a command's own name."""


class CommandUse(NamedTuple):
    """A command that a person gave."""

    person: Person
    text: str = ""
    """The text that follows the command's name."""
    pressed: bool = False
    """True if they pressed a button of an earlier answer, which they have read, instead of typing it."""


class CommandButton(NamedTuple):
    """A button below an answer."""

    label: str
    command: str
    """The command that it gives: at most 30 letters, digits, hyphens, underscores and spaces."""


class CommandAnswer(NamedTuple):
    """The answer to a command, shown only to the person who gave it."""

    text: str
    """Plain text: each surface makes it harmless."""
    buttons: tuple[CommandButton, ...] = ()


async def _only_listed(_use: CommandUse) -> CommandAnswer:
    raise AssertionError("this command is only listed")


class Command(NamedTuple):
    """A command that people can give."""

    name: str
    about: str
    """A description of at most 100 characters, on one line."""
    argument: str = ""
    """The argument that has to be typed after it; empty if it takes none."""
    answer: Callable[[CommandUse], Awaitable[CommandAnswer]] = _only_listed
    """Carries it out. The default is for those who only list what there is."""

    @property
    def usage(self) -> str:
        """The line that a person types."""
        return " ".join(filter(None, (f"/{COMMAND}", self.name, self.argument.upper())))


class Commands:
    """The commands that a service offers."""

    def __init__(self, offered: Sequence[Command], labels: Labels) -> None:
        self.offered = offered
        self._labels = labels

    async def run(self, person: Person, line: str, *, pressed: bool = False) -> CommandAnswer:
        """Carry out a line that follows ``/answerback``; unknown ones are answered with what there is."""
        name, _, text = line.strip().partition(" ")
        found = next((each for each in self.offered if each.name == name.lower()), None)
        if found is None or (found.argument and not text.strip()):
            return CommandAnswer(self._help())
        try:
            return await found.answer(CommandUse(person, text.strip(), pressed))
        except StoreError as error:
            extra = {"action": "command_failed", "command": found.name}
            logger.warning("A command could not be carried out: %s", error, extra=extra)
            return CommandAnswer(self._labels.save_error_message(error))

    def _help(self) -> str:
        lines = [f"{each.usage}: {each.about}" for each in self.offered]
        return "\n".join(lines) or self._labels.no_commands
