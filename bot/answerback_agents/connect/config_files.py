"""Configuration files on disk: read and replaced as a whole, keeping permissions, links and byte order mark.

What existed before has a copy, and what connecting has created has a mark: no text tells who wrote it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from answerback_agents.connect.settings_entries import ConnectError

BACKUP: Final = ".before-answerback"
"""The suffix of the copy, which is in the same folder as its file."""
_MARK: Final = ".created-by-answerback"
"""The suffix of the file that says that connecting has created its file."""
_BOM: Final = "\ufeff"
_PRIVATE_MODE: Final = 0o600
_BY_HAND: Final = "Fix that, or edit the file by hand."
_NEW_FILE_MODE: Final = 0o666  # less the umask


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file, which may be missing, and the copy of its original text."""

    path: Path
    within: Path
    """The folder that existed before."""

    @property
    def backup(self) -> Path:
        """The path of the copy that connecting keeps."""
        return self.path.with_name(self.path.name + BACKUP)

    def read(self) -> str | None:
        """Read the text, with its line endings and byte order mark if any; None for a missing file.

        Raises:
            ConnectError: the file cannot be read.
        """
        return _read(self.path)

    def read_backup(self) -> str | None:
        """Read the copy of the original text; None if there is no copy."""
        return _read(self.backup)

    def write_backup(self, text: str) -> None:
        _replace(self.backup, text, _mode(self.path))

    @property
    def is_created(self) -> bool:
        """True if connecting has created the file, as a mark beside it says."""
        return self._mark.exists()

    @property
    def _mark(self) -> Path:
        return self.path.with_name(self.path.name + _MARK)

    def mark_created(self, text: str) -> None:
        """Note that connecting has created the file, with this text."""
        _replace(self._mark, _digest(text), None)

    def is_as_created(self, text: str) -> bool:
        """Return True if this is the text that connecting has written last to a file that it had created."""
        return _read(self._mark) == _digest(text)

    def delete_mark(self) -> None:
        self._mark.unlink(missing_ok=True)

    def replace(self, before: str | None, after: str) -> None:
        """Replace the file atomically.

        Raises:
            ConnectError: the file cannot be written, or was changed since it was read.
        """
        self._check(before)
        target = Path(os.path.realpath(self.path))
        _replace(target, after, _mode(target))

    def remove(self, before: str) -> None:
        """Delete a file that connecting created, and the folders on its path that are empty then.

        A file behind a link was there before; it is emptied.

        Raises:
            ConnectError: the file was changed since it was read.
        """
        if self.path.is_symlink():
            self.replace(before, "")
            return
        self._check(before)
        self.path.unlink()
        self.delete_mark()
        with contextlib.suppress(OSError):  # a folder is not empty
            for folder in self.path.relative_to(self.within).parents[:-1]:
                (self.within / folder).rmdir()

    def delete_backup(self) -> None:
        self.backup.unlink(missing_ok=True)

    def _check(self, before: str | None) -> None:
        if self.read() != before:
            raise ConnectError(
                f"{self.path} was changed by another program in the meantime. Try again."
            )


def split_bom(text: str) -> tuple[str, str]:
    """Split a text into its byte order mark (usually empty) and the rest."""
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest() + "\n"


def newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        if path.is_symlink():
            raise ConnectError(
                f"{path} is a link to {os.readlink(path)}, which does not exist. Restore that file, or delete the link."
            ) from None
        return None
    except UnicodeDecodeError:
        raise ConnectError(f"{path} is not encoded in UTF-8. Save it as UTF-8 first.") from None
    except OSError as error:
        raise ConnectError(f"Cannot read {path}: {error.strerror}.") from error


def _mode(path: Path) -> int | None:
    """The permissions of a file; None for a new file, which gets the person's default ones."""
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        return None


def _replace(path: Path, text: str, mode: int | None) -> None:
    # Always the same name, so that the next call deletes the file that a killed one has left behind.
    temporary = path.with_name(f".{path.name}.answerback-new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(
            os.open(temporary, flags, _NEW_FILE_MODE if mode is None else _PRIVATE_MODE), "wb"
        ) as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())  # before the rename: a crash must not leave an empty file
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ConnectError(f"Cannot write {path}: {error.strerror}. {_BY_HAND}") from error
