"""A one-line change that would break a promise, and the tests that notice it."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """One changed line of the product."""

    file: str
    line: str
    """The text to replace: a part of a line that occurs once in the file."""
    mutant: str
    tests: tuple[str, ...]
    """The arguments of pytest that select the tests which notice the change."""
    slow: bool = False
    """True if its tests take more than some seconds."""

    def describe(self) -> str:
        """Return its place and the line that it changes."""
        return f"{self.file}: {self.line.strip()}"
