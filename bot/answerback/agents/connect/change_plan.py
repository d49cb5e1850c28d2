"""What connecting an agent changes in one of its files, and what disconnecting it does."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from answerback.agents.connect.config_files import ConfigFile, newline_of, split
from answerback.agents.connect.settings_entries import ConnectError, Entry, Format, holds


class Change(NamedTuple):
    """A file before and after; None where there is no file."""

    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Target:
    """One file of an agent's configuration, and what Answerback puts into it."""

    file: ConfigFile
    format: Format
    entries: Sequence[Entry]

    def connecting(self) -> Change:
        """The file with the entries.

        Raises:
            ConnectError: it cannot take them.
        """
        before = self.file.read()
        mark, text = split(before or "")
        try:
            was = self.format.data(text)
            for entry in self.entries:
                text = self.format.put(text, entry, newline_of(text))
            now = self.format.data(text)
        except ConnectError as error:
            raise ConnectError(f"{self.file.path}: {error}") from error
        if not all(holds(now, entry) for entry in self.entries) or was.keys() - now.keys():
            raise AssertionError(f"{self.file.path} would not say what it is to say")
        return Change(before, mark + text)

    def disconnecting(self) -> Change:
        """The file without the entries, or with what was there before they were.

        Raises:
            ConnectError: it cannot be read.
        """
        before = self.file.read()
        if before is None:
            return Change(None, None)
        mark, text = split(before)
        kept = self.file.original()
        try:
            left = self._without(text, None if kept is None else split(kept)[1])
        except ConnectError as error:
            raise ConnectError(f"{self.file.path}: {error}") from error
        return Change(before, None if left is None else mark + left)

    def _without(self, text: str, original: str | None) -> str | None:
        """The text without the entries; None where they are all that was ever in it."""
        if not self._connected(text):
            return text
        for entry in reversed(self.entries):
            text = self.format.take(text, entry, original)
        if text.strip().removeprefix("{").removesuffix("}").strip():
            return text
        if original is not None and original.strip():
            return text
        return original

    def _connected(self, text: str) -> bool:
        data = self.format.data(text)
        return any(holds(data, entry) for entry in self.entries)

    def connect(self, change: Change) -> None:
        """Writes the file; a copy of what it was before Answerback stays beside it."""
        if change.before is not None and change.after != change.before:
            _, text = split(change.before)
            kept = self.file.original() is not None or self._without(text, None) is None
            if not (kept and self._connected(text)):
                self.file.keep(change.before)
        self._write(change)

    def disconnect(self, change: Change) -> None:
        """Writes the file, or deletes it if connecting made it; the copy goes when the file is as it was."""
        self._write(change)
        if self.file.original() == change.after:
            self.file.forget()

    def _write(self, change: Change) -> None:
        if change.after is None and change.before is not None:
            self.file.remove(change.before)
        elif change.after is not None and change.after != change.before:
            self.file.replace(change.before, change.after)

    def printed(self) -> str:
        """The entries alone, to paste."""
        text = ""
        for entry in self.entries:
            text = self.format.put(text, entry, "\n")
        return text

    def diff(self, change: Change) -> str:
        """What changes, as a unified diff."""
        name = str(self.file.path)
        lines = difflib.unified_diff(
            (change.before or "").splitlines(keepends=True),
            (change.after or "").splitlines(keepends=True),
            "/dev/null" if change.before is None else name,
            "/dev/null" if change.after is None else name,
        )
        ended = (
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        )
        return "".join(ended)
