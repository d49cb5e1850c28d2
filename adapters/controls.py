"""The codec of what a control carries: which ask, which revision, what it does.

One short string serves every platform (Discord's custom_id holds 100 characters, the least of all:
https://docs.discord.com/developers/components/reference#anatomy-of-a-component). A control so
carries everything that is needed to act on it after any restart; nothing is remembered for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_LENGTH: Final = 100
_VERSION: Final = "ab1"
_PATTERN: Final = re.compile(
    r"ab1:(ask_[0-9a-z]{1,40}):([0-9]{1,9}):([a-z_]{1,16})(?::([0-9A-Za-z._-]{0,30}))?"
)


class Verb(StrEnum):
    """What a control does when it is used."""

    ANSWER = "answer"
    """Answer at once. Argument: ``true``, ``false`` or the 0-based index of an option."""
    REMEMBER = "remember"
    """Answer and reuse it in this turn. Argument: ``true`` or ``false``."""
    CHOOSE = "choose"
    """A menu: what was chosen comes in the platform's payload. Argument: page, where there are several."""
    TAKE = "take"
    """Hand in what is chosen in the menus or boxes of the message."""
    OTHER = "other"
    """Open the entry of "Something else…"."""
    WRITE = "write"
    """Open the entry of a text answer."""
    FILL = "fill"
    """Open the entry of a schema answer. Argument: page, where there are several."""
    BACK = "back"
    REPLY = "reply"
    END_TURN = "end_turn"
    EDIT = "edit"
    """In review: open one answer again. Argument: the 0-based index of the question."""
    SUBMIT = "submit"
    """In review: hand in the answers."""
    PAGE = "page"
    """Show another page of a long list. Argument: the 0-based page."""
    SEARCH = "search"
    """Open the search through a long list."""
    FULL = "full"
    """Show in full, privately, what had to be shortened. Argument: what (a part the renderer names)."""
    PREVIEW = "preview"
    """Show an option's preview, privately. Argument: the 0-based index of the option."""


@dataclass(frozen=True, slots=True)
class Control:
    """What one control carries."""

    ask_id: str
    revision: int
    verb: Verb
    argument: str = ""

    def encode(self) -> str:
        """The control as one string of at most 100 characters."""
        text = f"{_VERSION}:{self.ask_id}:{self.revision}:{self.verb}"
        text += f":{self.argument}" if self.argument else ""
        if len(text) > MAX_LENGTH or not _PATTERN.fullmatch(text):
            raise ValueError(f"{text!r} is no control")
        return text


def decode(text: object) -> Control | None:
    """What a control carries, or None for a string that is no control of ours (whoever made it)."""
    match = _PATTERN.fullmatch(text) if isinstance(text, str) else None
    if match is None or match[3] not in Verb.__members__.values():
        return None
    return Control(match[1], int(match[2]), Verb(match[3]), match[4] or "")
