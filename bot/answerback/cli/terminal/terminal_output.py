"""Prints lines of styled text to the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from prompt_toolkit import print_formatted_text
from prompt_toolkit.formatted_text import FormattedText

from answerback_base.sanitize import visible

BOLD: Final = "bold"
DIM: Final = "fg:ansibrightblack"
Fragments: TypeAlias = list[tuple[str, str]]
"""A line in the form that prompt_toolkit takes: styles and texts."""


def text_line(text: str, style: str = "") -> Fragments:
    """Return a text as a line, with what could not be seen made visible."""
    return [(style, visible(text))]


def print_lines(lines: Iterable[Fragments]) -> None:
    """Print lines at once: each call to prompt_toolkit takes milliseconds."""
    if fragments := [part for line in lines for part in (*line, ("", "\n"))]:
        print_formatted_text(FormattedText(fragments), end="")
