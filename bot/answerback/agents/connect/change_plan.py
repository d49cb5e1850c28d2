"""What connecting an agent changes in one of its files, and what disconnecting it does."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from answerback.agents.connect.config_files import ConfigFile, newline_of, split_bom
from answerback.agents.connect.settings_entries import ConnectError, Entry, Format, has_entry


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

    def plan_connect(self) -> Change:
        """The file with the entries.

        Raises:
            ConnectError: it cannot take them.
        """
        before = self.file.read()
        mark, text = split_bom(before or "")
        try:
            was = self.format.data(text)
            for entry in self.entries:
                text = self.format.put_entry(text, entry, newline_of(text))
            now = self.format.data(text)
        except ConnectError as error:
            raise ConnectError(f"{self.file.path}: {error}") from error
        if not all(has_entry(now, entry) for entry in self.entries) or was.keys() - now.keys():
            raise AssertionError(f"{self.file.path} would not say what it is to say")
        return Change(before, mark + text)

    def plan_disconnect(self) -> Change:
        """The file without the entries, or with what was there before they were.

        Raises:
            ConnectError: it cannot be read.
        """
        before = self.file.read()
        if before is None:
            return Change(None, None)
        mark, text = split_bom(before)
        kept = self.file.read_backup()
        try:
            left = self._without(text, None if kept is None else split_bom(kept)[1])
        except ConnectError as error:
            raise ConnectError(f"{self.file.path}: {error}") from error
        return Change(before, None if left is None else mark + left)

    def _without(self, text: str, original: str | None) -> str | None:
        """The text without the entries; None where they are all that was ever in it."""
        if not self._connected(text):
            return text
        for entry in reversed(self.entries):
            text = self.format.remove_entry(text, entry, original)
        if text.strip().removeprefix("{").removesuffix("}").strip():
            return text
        if original is not None and original.strip():
            return text
        return original

    def _connected(self, text: str) -> bool:
        data = self.format.data(text)
        return any(has_entry(data, entry) for entry in self.entries)

    def connect(self, change: Change) -> None:
        """Writes the file; a copy of what it was before Answerback stays beside it."""
        if change.before is not None and change.after != change.before:
            _, text = split_bom(change.before)
            kept = self.file.read_backup() is not None or self._without(text, None) is None
            if not (kept and self._connected(text)):
                self.file.write_backup(change.before)
        self._write(change)

    def disconnect(self, change: Change) -> None:
        """Writes the file, or deletes it if connecting made it; the copy goes when the file is as it was."""
        self._write(change)
        if self.file.read_backup() == change.after:
            self.file.delete_backup()

    def _write(self, change: Change) -> None:
        if change.after is None and change.before is not None:
            self.file.remove(change.before)
        elif change.after is not None and change.after != change.before:
            self.file.replace(change.before, change.after)

    def render_entries(self) -> str:
        """The entries alone, to paste."""
        text = ""
        for entry in self.entries:
            text = self.format.put_entry(text, entry, "\n")
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
