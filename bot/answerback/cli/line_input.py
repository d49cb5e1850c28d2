"""Whole lines from a person: typed at a terminal, or read from a pipe. Nothing counts before Enter.

Keys that act at once are no letters, and none of them answers: Esc, and those that move.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Collection
from enum import StrEnum
from itertools import accumulate
from typing import BinaryIO, Final, Protocol

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import (
    KeyBindings,
    KeyBindingsBase,
    KeyPressEvent,
    merge_key_bindings,
)
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments

from answerback_chat.sanitize import glyph

_AFTER_ESC: Final = 0.1
"""Seconds after which an Esc stands alone: Alt and other keys send one too, and the rest follows at once."""
_PROMPT: Final = "> "


class PressedKey(StrEnum):
    """A key that counts without Enter."""

    LEAVE = "escape"
    PREVIOUS = "before"
    NEXT = "after"
    OTHER = "words"
    """Space on "Something else…"."""


_MOVES: Final = {
    "left": PressedKey.PREVIOUS,
    "s-tab": PressedKey.PREVIOUS,
    "right": PressedKey.NEXT,
    "tab": PressedKey.NEXT,
}

FragmentsFactory = Callable[[], StyleAndTextTuples]


class Checklist(Protocol):
    """A list whose boxes are ticked while the line below it is empty."""

    def fragments(self) -> StyleAndTextTuples:
        """The list as it stands."""

    def plain(self) -> str:
        """The list as it stands, without a terminal."""

    def bindings(self) -> KeyBindings:
        """The keys that move in it and tick."""


class LineInput(Protocol):
    """Where lines come from. Every method raises EOFError where none will come any more."""

    async def read_line(
        self, moves: Collection[PressedKey] = (), ticking: Checklist | None = None
    ) -> str | PressedKey:
        """A line without its end, or a key that counts without one; of those that move, only these."""

    async def read_text(self, words: str, start: str) -> str | None:
        """A text, which starts from another; None where the person thought better of it."""

    async def edit_text(self, text: str) -> str | None:
        """A longer text, edited; None where it was left as it was."""


class TerminalInput:
    """Lines typed at a terminal."""

    async def read_line(
        self, moves: Collection[PressedKey] = (), ticking: Checklist | None = None
    ) -> str | PressedKey:
        """See `LineInput`."""
        keys = _leaving()
        for key, pressed in _MOVES.items():
            if pressed in moves:
                _exit_on(keys, key, pressed)
        if ticking is None:
            return await _typed(_PROMPT, keys)

        def above() -> StyleAndTextTuples:
            return [*ticking.fragments(), ("", _PROMPT)]

        return await _typed(above, merge_key_bindings([keys, ticking.bindings()]))

    async def read_text(self, words: str, start: str) -> str | None:
        """See `LineInput`. Alt+Enter begins a new line, Ctrl-X Ctrl-E opens $EDITOR; Esc or Ctrl-C leaves."""
        keys = _leaving()

        @keys.add("escape", "enter")
        def _new_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        try:
            typed = await _typed(f"{words}: ", keys, start)
        except (KeyboardInterrupt, EOFError):
            return None
        return None if isinstance(typed, PressedKey) else typed

    async def edit_text(self, text: str) -> str | None:
        """See `LineInput`: in $EDITOR."""
        edited = await asyncio.to_thread(click.edit, text, extension=".json")
        return None if edited is None else str(edited)


class PipedInput:
    """Lines from a file or a pipe; one that has no end yet is not a line."""

    def __init__(self, source: BinaryIO, say: Callable[[str], None]) -> None:
        self._source = source
        self._say = say

    async def read_line(
        self, moves: Collection[PressedKey] = (), ticking: Checklist | None = None
    ) -> str | PressedKey:
        """See `LineInput`."""
        if ticking is not None:
            self._say(ticking.plain())
        return self._line()

    async def read_text(self, words: str, start: str) -> str | None:
        """See `LineInput`."""
        self._say(f"{words}:")
        return self._line()

    async def edit_text(self, text: str) -> str | None:
        """See `LineInput`: as JSON on one line."""
        self._say("The JSON, on one line:")
        return self._line()

    def _line(self) -> str:
        # Not in a thread: nothing else is under way, and a thread that reads could not be interrupted.
        line = self._source.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        return line.decode("utf-8", "replace").rstrip("\r\n")


class _Visible(Processor):
    """Shows what is edited as `answerback_chat.sanitize` shows all texts; the text itself stays as it is."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        before = explode_text_fragments(transformation_input.fragments)
        after: StyleAndTextTuples = [(style, glyph(char)) for style, char, *_ in before]
        places = [0, *accumulate(len(text) for _, text, *_ in after)]
        return Transformation(
            after,
            source_to_display=lambda place: places[min(place, len(places) - 1)],
            display_to_source=lambda place: max(0, bisect_right(places, place) - 1),
        )


async def _typed(
    message: str | FragmentsFactory, keys: KeyBindingsBase, start: str = ""
) -> str | PressedKey:
    session: PromptSession[str] = PromptSession(
        key_bindings=keys, enable_open_in_editor=True, input_processors=[_Visible()]
    )
    session.app.timeoutlen = session.app.ttimeoutlen = _AFTER_ESC
    return await session.prompt_async(message, default=start)


def _leaving() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("escape")
    def _leave(event: KeyPressEvent) -> None:
        event.app.exit(result=PressedKey.LEAVE)

    return keys


def line_is_empty() -> Condition:
    """Whether nothing is typed: keys that are letters elsewhere may then act on a list."""
    return Condition(lambda: not get_app().current_buffer.text)


def _exit_on(keys: KeyBindings, key: str, result: PressedKey) -> None:
    @keys.add(key, filter=line_is_empty())
    def _exit(event: KeyPressEvent) -> None:
        event.app.exit(result=result)
