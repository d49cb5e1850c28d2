"""The codec of what a control carries: which ask, which revision, what it does.

One short string serves every platform (Discord's custom_id holds 100 characters, the least of all:
https://docs.discord.com/developers/components/reference#anatomy-of-a-component). A control so
carries everything that is needed to act on it after any restart; nothing is remembered for it.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from answerback.core.intents import Choose, EditAt, RequestedAction
from answerback.core.walker import Answer, Back, EndTurn, Submit

_STEM: Final = r"ab1:(ask_[0-9a-z]{1,40}):([0-9]{1,9}):"
_ARGUMENT: Final = r"[0-9A-Za-z._-]{1,30}"
_PATTERN: Final = re.compile(rf"{_STEM}([a-z_]{{1,16}})(?::({_ARGUMENT})?)?")
_IS_STEM: Final = re.compile(_STEM)
_IS_ARGUMENT: Final = re.compile(_ARGUMENT)


class Verb(StrEnum):
    """What a control does when it is used."""

    ANSWER = "answer"
    """Answer at once. Argument: ``true``, ``false`` or the 0-based index of an option."""
    REMEMBER = "remember"
    """Answer and reuse it in this turn. Argument: ``true`` or ``false``."""
    CHOOSE = "choose"
    """A menu: what was chosen comes in the platform's payload. Argument: page, where there are several."""
    SUBMIT_SELECTION = "take"
    """Hand in what is chosen in the menus or boxes of the message."""
    OTHER = "other"
    """Open the entry of "Something else…"."""
    NOTE = "note"
    """Open the entry of a choice with a note beside it."""
    WRITE = "write"
    """Open the entry of a text answer."""
    FILL = "fill"
    """Open the entry of a schema answer. Argument: page, where there are several."""
    BACK = "back"
    ASK_BACK = "ask_back"
    """Open the entry of what the agent is to explain."""
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
    SHOW_IN_FULL = "full"
    """Show in full, privately, what had to be shortened. Argument: what (a part the renderer names)."""
    USE_MESSAGE = "use"
    """Take words that were typed as the answer. Argument: the platform's id of the message."""
    INBOX = "inbox"
    """Show what waits for this person, privately; it is of no ask. Argument: the cursor of the page."""
    PREVIEW = "preview"
    """Show an option's preview, privately. Argument: the 0-based index of the option."""


NO_ASK: Final = "ask_0"
"""What stands for the ask in a control that is of none."""
_VERBS: Final = {verb.value: verb for verb in Verb}


class Control(NamedTuple):
    """What one control carries."""

    ask_id: str
    revision: int
    verb: Verb
    argument: str = ""

    @property
    def number(self) -> int | None:
        """The place or page that it names; None where it names none."""
        return parse_index(self.argument.partition(".")[0])

    def encode(self) -> str:
        """See `encode`."""
        return encode(self.ask_id, self.revision, self.verb, self.argument)

    def wanted(self, places: tuple[int, ...] | None) -> RequestedAction | None:
        """What somebody who uses it wants of the ask; None where it only shows them something.

        Args:
            places: of what they chose in a menu or boxes; None where there are none.
        """
        if self.verb in {Verb.ANSWER, Verb.REMEMBER} and self.argument in _BOOLEANS:
            return _BOOLEANS[self.argument][self.verb is Verb.REMEMBER]
        match self.verb:
            case Verb.BACK:
                return _BACK
            case Verb.END_TURN:
                return EndTurn()
            case Verb.SUBMIT:
                return Submit()
            case Verb.SUBMIT_SELECTION:
                return Choose(places)
            case Verb.ANSWER:
                return Choose(None if self.number is None else (self.number,))
            case Verb.EDIT:
                return EditAt(places[0] if places else self.number)
            case _:
                return None


_BACK: Final = Back()
_BOOLEANS: Final = {
    str(value).lower(): (Answer(value=value), Answer(value=value, remember=True))
    for value in (True, False)
}
_MOST_DIGITS: Final = 6


def parse_index(text: str) -> int | None:
    """A number of at most six digits that is written in digits alone."""
    plain = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if plain else None


def encode(ask_id: str, revision: int, verb: Verb, argument: str = "") -> str:
    """A control as one string of at most 100 characters.

    Raises:
        ValueError: it could not be decoded.
    """
    return control_prefix(ask_id, revision) + control_suffix(verb, argument)


def control_suffix(verb: Verb, argument: str = "") -> str:
    """What tells a control from the others of its message; see `encode`."""
    if not argument:
        return str(verb)
    if not _IS_ARGUMENT.fullmatch(argument):
        raise ValueError(f"{argument!r} is no argument of a control")
    return f"{verb}:{argument}"


@lru_cache(maxsize=256)
def control_prefix(ask_id: str, revision: int) -> str:
    """What all controls of a message begin with; see `encode`."""
    text = f"ab1:{ask_id}:{revision}:"
    if not _IS_STEM.fullmatch(text):
        raise ValueError(f"{text!r} begins no control")
    return text


def decode(text: object) -> Control | None:
    """What a control carries, or None for a string that is no control of ours (whoever made it)."""
    match = _PATTERN.fullmatch(text) if isinstance(text, str) else None
    verb = _VERBS.get(match[3]) if match else None
    if match is None or verb is None:
        return None
    return Control(match[1], int(match[2]), verb, match[4] or "")
