"""Encode and decode the id of a control: its ask, the revision, and what it does.

Here is also how the JSON around it is read, of which any value may be missing or of another type.

One short string serves every platform (a custom_id, for example, holds 100 characters:
https://docs.discord.com/developers/components/reference#anatomy-of-a-component). A control thus
carries everything needed to act on it after any restart; no state is kept for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.actions import Answer, Back, Confirm, EndTurn, Submit
from answerback.core.granting import RevokeGrant
from answerback.core.intents import Choose, EditAt, RequestedAction
from answerback.ports.commands import CommandButton
from answerback.presentation.control_buttons import Verb as Verb
from answerback.presentation.form_spec import Entry

_STEM: Final = r"ab1:(ask_[0-9a-z]{1,40}):([0-9]{1,9}):"
_ARGUMENT: Final = r"[0-9A-Za-z._-]{1,30}"
_PATTERN: Final = re.compile(rf"{_STEM}([a-z_]{{1,16}})(?::({_ARGUMENT})?)?")
_IS_STEM: Final = re.compile(_STEM)
_IS_ARGUMENT: Final = re.compile(_ARGUMENT)


NO_ASK: Final = "ask_0"
"""The ask id of a control that belongs to no ask."""
CONFIRMED: Final = "yes"
"""The argument of the End Turn control that really ends the turn."""
KEEP_GOING: Final = "no"
"""The argument of the one beside it, which does not."""
BATCH_VERBS: Final = {Verb.ALLOW_SEVERAL: True, Verb.DENY_SEVERAL: False}
"""The controls that decide about several permissions, and whether they allow them."""
COMMAND_VERBS: Final = {Verb.COMMAND: False, Verb.RUN: True}
"""The controls that carry out a command, and whether a button was pressed."""
_VERBS: Final = {verb.value: verb for verb in Verb}
_ENTRIES: Final = {_VERBS[entry.value]: entry for entry in Entry}


class Control(NamedTuple):
    """A decoded control id."""

    ask_id: str
    revision: int
    verb: Verb
    argument: str = ""

    @property
    def number(self) -> int | None:
        """The index or page in its argument; None if there is none."""
        return parse_index(self.argument.partition(".")[0])

    @property
    def entry(self) -> Entry | None:
        """The entry of the form that it opens; None if it opens none."""
        return _ENTRIES.get(self.verb)

    def encode(self) -> str:
        """Encode it as a string of at most 100 characters.

        Raises:
            ValueError: the string could not be decoded again.
        """
        return control_prefix(self.ask_id, self.revision) + control_suffix(self.verb, self.argument)

    @property
    def command(self) -> str:
        """The line of the command that it carries out."""
        return self.argument.replace(".", " ") if self.verb is Verb.RUN else self.argument

    def wanted(self, places: tuple[int, ...] | None) -> RequestedAction | None:
        """Return the action that using it requests; None if it only shows something.

        Args:
            places: the indexes chosen in a menu or checkboxes; None if the control has neither.
        """
        if self.verb in {Verb.ANSWER, Verb.REMEMBER} and self.argument in _BOOLEANS:
            return _BOOLEANS[self.argument][self.verb is Verb.REMEMBER]
        if (plain := _PLAIN.get(self.verb)) is not None:
            return plain
        match self.verb:
            case Verb.SUBMIT_SELECTION:
                return Choose(places)
            case Verb.ANSWER:
                return Choose(None if self.number is None else (self.number,))
            case Verb.EDIT:
                return EditAt(places[0] if places else self.number)
            case _:
                return None


_PLAIN: Final[Mapping[Verb, RequestedAction]] = {
    Verb.BACK: Back(),
    Verb.END_TURN: EndTurn(),
    Verb.SUBMIT: Submit(),
    Verb.REVOKE: RevokeGrant(),
    Verb.CONFIRM: Confirm(),
}
"""The actions of the controls whose verb says everything."""
_BOOLEANS: Final = {
    str(value).lower(): (Answer(value=value), Answer(value=value, remember=True))
    for value in (True, False)
}
_MAX_DIGITS: Final = 6


def parse_index(text: str) -> int | None:
    """Parse a number of at most six ASCII digits; None for anything else."""
    plain = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    return int(text) if plain else None


def control_suffix(verb: Verb, argument: str = "") -> str:
    """Return the part that differs between the controls of a message; see `Control.encode`."""
    if not argument:
        return str(verb)
    if not _IS_ARGUMENT.fullmatch(argument):
        raise ValueError(f"{argument!r} is not a valid argument of a control")
    return f"{verb}:{argument}"


@lru_cache(maxsize=256)  # 0.6 µs each, for nine controls and more of a message
def control_prefix(ask_id: str, revision: int) -> str:
    """Return the prefix that all controls of a message share; see `Control.encode`."""
    text = f"ab1:{ask_id}:{revision}:"
    if not _IS_STEM.fullmatch(text):
        raise ValueError(f"{text!r} is not a valid prefix of a control")
    return text


def command_control(button: CommandButton) -> str:
    """Encode the control of a button below the answer to a command; see `Control.encode`."""
    return Control(NO_ASK, 0, Verb.RUN, button.command.replace(" ", ".")).encode()


def decode(text: object) -> Control | None:
    """Decode a control id; None for any string that is not one of ours."""
    match = _PATTERN.fullmatch(text) if isinstance(text, str) else None
    verb = _VERBS.get(match[3]) if match else None
    if match is None or verb is None:
        return None
    return Control(match[1], int(match[2]), verb, match[4] or "")


# --- the JSON around it ---------------------------------------------------------------------------


def object_of(value: object) -> dict[str, JsonValue]:
    """Return a value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[JsonValue]:
    """Return a value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects_of(value: object) -> list[dict[str, JsonValue]]:
    return [each for each in list_of(value) if isinstance(each, dict)]


def text_of(value: object) -> str:
    """Return a value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def texts_of(value: object) -> tuple[str, ...]:
    """Return the texts in a list."""
    return tuple([each for each in list_of(value) if isinstance(each, str)])
