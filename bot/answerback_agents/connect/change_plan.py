"""Plans and makes the change to one of an agent's files when it is connected or disconnected."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from answerback_agents.connect.config_files import ConfigFile, newline_of, split_bom
from answerback_agents.connect.settings_entries import (
    ConnectError,
    Entry,
    Format,
    as_present,
    has_entry,
)


class Change(NamedTuple):
    """A file's text before and after; None if there is no file."""

    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Target:
    """One file of an agent's configuration, and the entries that Answerback adds to it."""

    file: ConfigFile
    format: Format
    entries: Sequence[Entry]

    def plan_connect(self) -> Change:
        """Plan the change that adds the entries.

        Raises:
            ConnectError: they cannot be added to the file.
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
            raise AssertionError(f"the new text of {self.file.path} would lack an entry or a key")
        return Change(before, mark + text)

    def plan_disconnect(self) -> Change:
        """Plan the change that removes the entries, or restores what they replaced.

        Raises:
            ConnectError: the file cannot be read.
        """
        before = self.file.read()
        if before is None:
            return Change(None, None)
        mark, text = split_bom(before)
        backup = self.file.read_backup()
        try:
            remaining = self._without(text, None if backup is None else split_bom(backup)[1])
        except ConnectError as error:
            raise ConnectError(f"{self.file.path}: {error}") from error
        return Change(before, None if remaining is None else mark + remaining)

    def _without(self, text: str, original: str | None) -> str | None:
        """The text without the entries; None if connecting has created the file, and nothing else is in it."""
        if not self._is_connected(text):
            return text
        if original is not None and self._is_connected_original(text, original):
            return original
        for entry in reversed(self.entries):
            text = self.format.remove_entry(text, entry, original)
        if text.strip().removeprefix("{").removesuffix("}").strip():
            return text
        if original is not None and not original.strip():
            return original
        return None if original is None and self.file.is_created else text

    def _is_connected_original(self, text: str, original: str) -> bool:
        """Return True if a text is what connecting, with any options, has made of the original, without an edit
        since."""
        data = self.format.data(text)
        try:
            for entry in self.entries:
                present = as_present(data, entry)
                original = self.format.put_entry(original, present, newline_of(original))
        except ConnectError:
            return False
        return original == text

    def _is_connected(self, text: str) -> bool:
        data = self.format.data(text)
        return any(has_entry(data, entry) for entry in self.entries)

    def connect(self, change: Change) -> None:
        """Write the file; keep a copy of its text before Answerback next to it, or mark it as created."""
        before, after = change
        if after is None or after == before:
            return
        if before is None:
            self._write(change)
            self.file.mark_created(after)
            return
        _, text = split_bom(before)
        is_connected = self._is_connected(text)
        if self.file.is_created and not is_connected:
            self.file.delete_mark()  # that file is gone, and somebody has made another one
        if not (is_connected and (self.file.is_created or self.file.read_backup() is not None)):
            self.file.write_backup(before)
        is_untouched = self.file.is_created and self.file.is_as_created(before)
        self._write(change)
        if is_untouched:
            self.file.mark_created(after)

    def disconnect(self, change: Change) -> None:
        """Write the file, or delete it if nothing is left; delete the copy if the file is as it was before.

        A copy stays of what has neither a copy nor a mark, and of what was edited since before it is deleted.
        """
        before, after = change
        if before is not None and before != after:
            is_known = self.file.is_created or self.file.read_backup() is not None
            if not is_known or (after is None and not self.file.is_as_created(before)):
                self.file.write_backup(before)
        self._write(change)
        self.file.delete_mark()
        if self.file.read_backup() == after:
            self.file.delete_backup()

    def _write(self, change: Change) -> None:
        if change.after is None and change.before is not None:
            self.file.remove(change.before)
        elif change.after is not None and change.after != change.before:
            self.file.replace(change.before, change.after)

    def render_entries(self) -> str:
        """Render just the entries, for pasting."""
        text = ""
        for entry in self.entries:
            text = self.format.put_entry(text, entry, "\n")
        return text

    def diff(self, change: Change) -> str:
        """Render a change as a unified diff."""
        name = str(self.file.path)
        lines = difflib.unified_diff(
            (change.before or "").splitlines(keepends=True),
            (change.after or "").splitlines(keepends=True),
            "/dev/null" if change.before is None else name,
            "/dev/null" if change.after is None else name,
        )
        terminated = (
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        )
        return "".join(terminated)
