"""The pointer that the arrow keys move over the options of a single choice in the terminal. No input or output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from answerback.cli.terminal.line_input import line_is_empty
from answerback_base.sanitize import one_line


@dataclass(slots=True)
class ChoicePointer:
    """Points at one of the options once an arrow key was pressed; Enter on an empty line then means that one."""

    options: Sequence[tuple[str, str]]
    """Their keys and labels."""
    start: str | None
    """The key of the option to begin at; None: before the first."""
    at: int | None = None

    @property
    def key(self) -> str | None:
        """The key of the option that is pointed at; None: no arrow key was pressed."""
        return None if self.at is None else self.options[self.at][0]

    def fragments(self) -> StyleAndTextTuples:
        if self.at is None:
            return []
        key, label = self.options[self.at]
        return [("bold", f"❯ {key:>2}  {one_line(label)}\n")]

    def plain(self) -> str:
        return ""

    def bindings(self) -> KeyBindings:
        keys = KeyBindings()
        empty = line_is_empty()

        @keys.add("up", filter=empty)
        @keys.add("c-p", filter=empty)
        def _up(_event: KeyPressEvent) -> None:
            self._move(-1)

        @keys.add("down", filter=empty)
        @keys.add("c-n", filter=empty)
        def _down(_event: KeyPressEvent) -> None:
            self._move(1)

        return keys

    def _move(self, by: int) -> None:
        known = [key for key, _ in self.options]
        first = known.index(self.start) if self.start in known else -1 if by > 0 else 0
        self.at = ((first if self.at is None else self.at) + by) % len(self.options)
