"""The checkboxes of a multiple choice in the terminal: which are selected, and how they look. No input or output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from prompt_toolkit.application import get_app
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from pydantic import JsonValue

from answerback.cli.terminal.line_input import PressedKey, line_is_empty
from answerback.presentation.text_fitting import shorten, utf16_length
from answerback_base.sanitize import one_line

_DIM: Final = "fg:ansibrightblack"
_OTHER_LINES: Final = 6
"""Lines of the screen that are needed above and below the list."""
_MIN_ROWS: Final = 3
_MARGIN: Final = 12
"""Columns needed next to a label: the pointer, the box and the number."""


@dataclass(slots=True)
class Selection:
    """The current state of the checkboxes. It outlives the menu that Esc opens."""

    options: Sequence[tuple[str, str]]
    """Their labels and descriptions."""
    selected: set[int]
    """The indexes of the options that are selected."""
    other: str | None
    """The label of the last row, "Something else…"; None if that is not offered."""
    other_text: str | None
    """The text entered for it so far."""
    _pointer: int = 0

    @property
    def count(self) -> int:
        """The number of rows, also that of "Something else…"."""
        return len(self.options) + (self.other is not None)

    @property
    def labels(self) -> list[str]:
        """The label of each row, including "Something else…"."""
        return [*(label for label, _ in self.options), *([self.other] if self.other else [])]

    @property
    def is_at_other(self) -> bool:
        """True if the pointer is at "Something else…"."""
        return self._pointer == len(self.options)

    def is_other(self, place: int) -> bool:
        """Return True if a row is "Something else…"."""
        return place == len(self.options) and self.other is not None

    def toggle(self, place: int) -> None:
        self.selected ^= {place}

    def plain(self) -> str:
        """All rows, without the pointer."""
        return "\n".join(self._row(place, None) for place in range(self.count))

    def fragments(self) -> StyleAndTextTuples:
        """The rows around the pointer that fit on the screen, and how many more there are."""
        size = get_app().output.get_size()
        rows = max(_MIN_ROWS, size.rows - _OTHER_LINES)
        first = max(0, min(self._pointer - rows // 2, self.count - rows))
        last = min(self.count, first + rows)
        lines: StyleAndTextTuples = [(_DIM, f"  ↑ {first} more\n")] if first else []
        for place in range(first, last):
            mark = "❯" if place == self._pointer else " "
            style = "bold" if place == self._pointer else ""
            lines.append((style, f"{mark} {self._row(place, size.columns - _MARGIN)}\n"))
        if last < self.count:
            lines.append((_DIM, f"  ↓ {self.count - last} more\n"))
        lines += [(_DIM, f"    {line}\n") for line in self._details(size.columns - _MARGIN)]
        return lines

    def bindings(self) -> KeyBindings:
        """The bindings of Up, Down and Space while nothing has been typed."""
        keys = KeyBindings()
        empty = line_is_empty()

        @keys.add("up", filter=empty)
        @keys.add("c-p", filter=empty)
        def _up(_event: KeyPressEvent) -> None:
            self._pointer = (self._pointer - 1) % self.count

        @keys.add("down", filter=empty)
        @keys.add("c-n", filter=empty)
        def _down(_event: KeyPressEvent) -> None:
            self._pointer = (self._pointer + 1) % self.count

        @keys.add(" ", filter=empty)
        def _toggle(event: KeyPressEvent) -> None:
            if self.is_at_other:
                event.app.exit(result=PressedKey.OTHER)
            else:
                self.toggle(self._pointer)

        return keys

    def _details(self, width: int) -> list[str]:
        """The details that do not fit into the row at the pointer: its whole label, and its description."""
        if self.is_at_other:
            return []
        label, description = self.options[self._pointer]
        whole = [one_line(label)] if utf16_length(one_line(label)) > width else []
        return [*whole, *([one_line(description)] if description else [])]

    def _row(self, place: int, width: int | None) -> str:
        if place < len(self.options):
            box, label = "x" if place in self.selected else " ", one_line(self.options[place][0])
        else:
            box, label = "x" if self.other_text else " ", self.other or ""
            label += f" {one_line(self.other_text)}" if self.other_text else ""
        return f"[{box}] {place + 1}  {shorten(label, max(width, 1)) if width else label}"


def start_selection(
    options: Sequence[Mapping[str, JsonValue]], start: Mapping[str, JsonValue], other: str | None
) -> Selection:
    """Return the selection that an action would send.

    Args:
        other: the label of "Something else…"; None if that is not offered.
    """
    chosen, other_text = start.get("value"), start.get("text")
    values = chosen if isinstance(chosen, list) else []
    return Selection(
        [(str(each["label"]), str(each.get("description") or "")) for each in options],
        {place for place, each in enumerate(options) if each["value"] in values},
        other,
        other_text if isinstance(other_text, str) else None,
    )
