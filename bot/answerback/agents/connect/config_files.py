"""Configuration files as they are on the disk: read and replaced whole, with all that is not their text kept."""

from __future__ import annotations

import contextlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from answerback.agents.connect.settings_entries import ConnectError

BACKUP: Final = ".before-answerback"
"""What the name of a copy ends in; it is beside its file."""
_BOM: Final = "\ufeff"
_PRIVATE: Final = 0o600
_BY_HAND: Final = "Fix that, or edit it by hand: --print shows what belongs there."
_NEW: Final = 0o666  # less the umask


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One file, which may be missing, and the copy of what it was."""

    path: Path
    within: Path
    """The folder that was there before."""

    @property
    def backup(self) -> Path:
        """The copy that connecting keeps."""
        return self.path.with_name(self.path.name + BACKUP)

    def read(self) -> str | None:
        """The text with its line ends, and its mark of the byte order if it has one; None for a missing file.

        Raises:
            ConnectError: it cannot be read.
        """
        return _read(self.path)

    def read_backup(self) -> str | None:
        """What was kept of the file; None where there was none, or nothing was kept."""
        return _read(self.backup)

    def write_backup(self, text: str) -> None:
        """Keeps a copy of what the file is now."""
        _replace(self.backup, text, _mode(self.path))

    def replace(self, before: str | None, after: str) -> None:
        """Writes the file, in one step.

        Raises:
            ConnectError: it cannot be written, or was changed since it was read.
        """
        self._check(before)
        target = Path(os.path.realpath(self.path))
        _replace(target, after, _mode(target))

    def remove(self, before: str) -> None:
        """Deletes a file that connecting made, and the folders on the way to it that nothing else is in.

        Raises:
            ConnectError: it was changed since it was read.
        """
        self._check(before)
        self.path.unlink()
        with contextlib.suppress(OSError):  # something else is in it
            for folder in self.path.relative_to(self.within).parents[:-1]:
                (self.within / folder).rmdir()

    def delete_backup(self) -> None:
        """Deletes the copy."""
        self.backup.unlink(missing_ok=True)

    def _check(self, before: str | None) -> None:
        if self.read() != before:
            raise ConnectError(f"{self.path} was changed by somebody else meanwhile. Try again.")


def split_bom(text: str) -> tuple[str, str]:
    """The mark of the byte order, which is mostly none, and the text behind it."""
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def newline_of(text: str) -> str:
    """How the lines of a text end."""
    return "\r\n" if "\r\n" in text else "\n"


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        if path.is_symlink():
            raise ConnectError(
                f"{path} is a link to {os.readlink(path)}, which is missing. Restore that file, or delete the link."
            ) from None
        return None
    except UnicodeDecodeError:
        raise ConnectError(f"{path} is not UTF-8. Save it as UTF-8 first.") from None
    except OSError as error:
        raise ConnectError(f"{path} cannot be read: {error.strerror}.") from error


def _mode(path: Path) -> int | None:
    """The permissions of a file; None for a new one, which gets what the person's files get."""
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        return None


def _replace(path: Path, text: str, mode: int | None) -> None:
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(beside, flags, _NEW if mode is None else _PRIVATE), "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ConnectError(f"{path} cannot be written: {error.strerror}. {_BY_HAND}") from error
