"""The boxes of a multiple choice in the terminal: which are selected, and how they look. No input or output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from prompt_toolkit.application import get_app
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from answerback.cli.line_input import PressedKey, line_is_empty
from answerback_chat.sanitize import one_line
from answerback_chat.text_fitting import shorten, utf16_length

_DIM: Final = "fg:ansibrightblack"
_AROUND: Final = 6
"""Lines of a screen that are not the list's: what is above and below it."""
_LEAST: Final = 3
_MARGIN: Final = 12
"""Columns beside a label: the pointer, the box and the number."""


class Selection:
    """The boxes as they stand. They outlive the menu that Esc opens.

    Args:
        labels: the options, each with its description or none.
        selected: the places of those that are selected from the start.
        other: the words of the last row, "Something else…"; None where it is not offered.
        words: what was entered there before.
    """

    def __init__(
        self,
        labels: Sequence[tuple[str, str | None]],
        selected: set[int],
        other: str | None,
        words: str | None,
    ) -> None:
        self.selected = selected
        self.words = words
        self._labels = labels
        self._other = other
        self._at = 0

    @property
    def count(self) -> int:
        """The rows."""
        return len(self._labels) + (self._other is not None)

    @property
    def labels(self) -> list[str]:
        """What stands in each row, "Something else…" included."""
        return [*(label for label, _ in self._labels), *([self._other] if self._other else [])]

    @property
    def is_at_other(self) -> bool:
        """Whether the pointer is at "Something else…"."""
        return self._at == len(self._labels)

    def is_other(self, place: int) -> bool:
        """Whether a row is "Something else…"."""
        return place == len(self._labels) and self._other is not None

    def toggle(self, place: int) -> None:
        """Selects an option, or deselects it."""
        self.selected ^= {place}

    def plain(self) -> str:
        """All rows, without the pointer."""
        return "\n".join(self._row(place, None) for place in range(self.count))

    def fragments(self) -> StyleAndTextTuples:
        """The rows around the pointer, as many as the screen takes, and how many more there are."""
        size = get_app().output.get_size()
        rows = max(_LEAST, size.rows - _AROUND)
        first = max(0, min(self._at - rows // 2, self.count - rows))
        last = min(self.count, first + rows)
        made: StyleAndTextTuples = [(_DIM, f"  ↑ {first} more\n")] if first else []
        for place in range(first, last):
            mark = "❯" if place == self._at else " "
            style = "bold" if place == self._at else ""
            made.append((style, f"{mark} {self._row(place, size.columns - _MARGIN)}\n"))
        if last < self.count:
            made.append((_DIM, f"  ↓ {self.count - last} more\n"))
        made += [(_DIM, f"    {line}\n") for line in self._about(size.columns - _MARGIN)]
        return made

    def bindings(self) -> KeyBindings:
        """Up, Down and Space, while nothing is typed."""
        keys = KeyBindings()
        empty = line_is_empty()

        @keys.add("up", filter=empty)
        @keys.add("c-p", filter=empty)
        def _up(_event: KeyPressEvent) -> None:
            self._at = (self._at - 1) % self.count

        @keys.add("down", filter=empty)
        @keys.add("c-n", filter=empty)
        def _down(_event: KeyPressEvent) -> None:
            self._at = (self._at + 1) % self.count

        @keys.add(" ", filter=empty)
        def _toggle(event: KeyPressEvent) -> None:
            if self.is_at_other:
                event.app.exit(result=PressedKey.OTHER)
            else:
                self.toggle(self._at)

        return keys

    def _about(self, width: int) -> list[str]:
        """What the row at the pointer has no room for: its whole label, and its description."""
        if self.is_at_other:
            return []
        label, description = self._labels[self._at]
        whole = [one_line(label)] if utf16_length(one_line(label)) > width else []
        return [*whole, *([one_line(description)] if description else [])]

    def _row(self, place: int, width: int | None) -> str:
        if place < len(self._labels):
            box, label = "x" if place in self.selected else " ", one_line(self._labels[place][0])
        else:
            box, label = "x" if self.words else " ", self._other or ""
            label += f" {one_line(self.words)}" if self.words else ""
        return f"[{box}] {place + 1}  {shorten(label, max(width, 1)) if width else label}"
