"""Parse the use of a slash command as the control that it is equivalent to. Pure.

https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object-application-command-data-structure
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.ports.commands import COMMAND
from answerback_chat.control_codec import NO_ASK, Control, Verb
from answerback_discord.components import Json

INBOX: Final = "inbox"
"""The name of the slash command that lists privately what is waiting for a person."""


def command_control(data: Json) -> Control | None:
    """Return the control that a command is equivalent to; None if it is not ours."""
    match data.get("name"):
        case name if name == INBOX:
            return Control(NO_ASK, 0, Verb.INBOX)
        case name if name == COMMAND:
            return Control(NO_ASK, 0, Verb.COMMAND, _line(data.get("options")))
        case _:
            return None


def _line(options: JsonValue) -> str:
    """Return the line that a person would type: the name of the subcommand, and the text of its only option."""
    match options:
        case [{"name": str(name), "options": [{"value": str(text)}]}]:
            return f"{name} {text}"
        case [{"name": str(name)}]:
            return name
        case _:
            return ""
