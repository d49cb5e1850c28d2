"""Whole lines from a person, typed at a terminal or read from a pipe. Nothing counts before Enter.

The keys that act at once are Esc and those that move. None of them is a letter, and none gives an answer.
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
from prompt_toolkit.application.current import get_app_session
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import (
    KeyBindings,
    KeyBindingsBase,
    KeyPressEvent,
    merge_key_bindings,
)
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments

from answerback_base.sanitize import glyphs

_ESC_TIMEOUT: Final = 0.1
"""Seconds after which an Esc counts as the Esc key: Alt and other keys send one too, followed at once by the rest."""
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
    """A list in which keys move, and may tick boxes, while the line below it is empty."""

    def fragments(self) -> StyleAndTextTuples:
        """The list in its current state."""

    def plain(self) -> str:
        """The list in its current state, as plain text."""

    def bindings(self) -> KeyBindings:
        """The keys that move in the list and tick its boxes."""


class LineInput(Protocol):
    """A source of lines. Every method raises EOFError if there are no more lines."""

    async def discard_typed(self) -> None:
        """Forget what was typed before: something is shown that nobody has seen yet."""

    async def read_line(
        self, moves: Collection[PressedKey] = (), checklist: Checklist | None = None
    ) -> str | PressedKey:
        """Read a line without its newline, or a key that acts at once; of the keys that move, only `moves` count."""

    async def read_text(self, text: str, start: str) -> str | None:
        """Read a text, prefilled with `start`; None if the person changed their mind."""

    async def edit_text(self, text: str) -> str | None:
        """Let the person edit a longer text; None if they left it unchanged."""


class TerminalInput:
    """Lines typed at a terminal."""

    async def discard_typed(self) -> None:
        await asyncio.to_thread(_read_all, get_app_session().input)

    async def read_line(
        self, moves: Collection[PressedKey] = (), checklist: Checklist | None = None
    ) -> str | PressedKey:
        keys = _leave_bindings()
        for key, pressed in _MOVES.items():
            if pressed in moves:
                _exit_on(keys, key, pressed)
        if checklist is None:
            return await _prompt_line(_PROMPT, keys)

        def above() -> StyleAndTextTuples:
            return [*checklist.fragments(), ("", _PROMPT)]

        return await _prompt_line(above, merge_key_bindings([keys, checklist.bindings()]))

    async def read_text(self, text: str, start: str) -> str | None:
        """Alt+Enter starts a new line, Ctrl-X Ctrl-E opens $EDITOR, Esc or Ctrl-C leaves."""
        keys = _leave_bindings()

        @keys.add("escape", "enter")
        def _new_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        try:
            entered = await _prompt_line(f"{text}: ", keys, start)
        except (KeyboardInterrupt, EOFError):
            return None
        return None if isinstance(entered, PressedKey) else entered

    async def edit_text(self, text: str) -> str | None:
        edited = await asyncio.to_thread(click.edit, text, extension=".json")
        return None if edited is None else str(edited)


class PipedInput:
    """Lines from a file or a pipe; an unterminated line does not count."""

    def __init__(self, source: BinaryIO, say: Callable[[str], None]) -> None:
        self._source = source
        self._say = say

    async def discard_typed(self) -> None:
        """Keep every line: a file or a program answers what it knows."""

    async def read_line(
        self, moves: Collection[PressedKey] = (), checklist: Checklist | None = None
    ) -> str | PressedKey:
        if checklist is not None and (text := checklist.plain()):
            self._say(text)
        return self._line()

    async def read_text(self, text: str, start: str) -> str | None:
        self._say(f"{text}:")
        return self._line()

    async def edit_text(self, text: str) -> str | None:
        self._say("The JSON, on one line:")
        return self._line()

    def _line(self) -> str:
        # Not in a thread: nothing else is running, and a thread that reads could not be interrupted.
        line = self._source.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        return line.decode("utf-8", "replace").rstrip("\r\n")


class _Visible(Processor):
    """Shows the edited text as `answerback_base.sanitize` shows all texts; the text itself stays unchanged."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        before = explode_text_fragments(transformation_input.fragments)
        shown = glyphs("".join(char for _, char, *_ in before))
        after: StyleAndTextTuples = [
            (style, char) for (style, *_), char in zip(before, shown, strict=True)
        ]
        places = [0, *accumulate(len(text) for _, text, *_ in after)]
        return Transformation(
            after,
            source_to_display=lambda place: places[min(place, len(places) - 1)],
            display_to_source=lambda place: max(0, bisect_right(places, place) - 1),
        )


async def _prompt_line(
    message: str | FragmentsFactory, keys: KeyBindingsBase, start: str = ""
) -> str | PressedKey:
    session: PromptSession[str] = PromptSession(
        key_bindings=keys, enable_open_in_editor=True, input_processors=[_Visible()]
    )
    session.app.timeoutlen = session.app.ttimeoutlen = _ESC_TIMEOUT
    return await session.prompt_async(message, default=start)


def _read_all(typed: Input) -> None:
    clear_typeahead(typed)
    with typed.raw_mode():  # otherwise a line is kept back until its end
        while typed.read_keys():
            pass
    typed.flush_keys()


def _leave_bindings() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("escape")
    def _leave(event: KeyPressEvent) -> None:
        event.app.exit(result=PressedKey.LEAVE)

    return keys


def line_is_empty() -> Condition:
    """Return True while nothing has been typed: Space and the like may then act on a list."""
    return Condition(lambda: not get_app().current_buffer.text)


def _exit_on(keys: KeyBindings, key: str, result: PressedKey) -> None:
    @keys.add(key, filter=line_is_empty())
    def _exit(event: KeyPressEvent) -> None:
        event.app.exit(result=result)
