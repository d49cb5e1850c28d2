"""A small text file that only the service's user can read, replaced atomically."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from answerback_base.base_error import StoreError


def read(path: Path, what: str) -> str | None:
    """Return the text of the file, or None if it does not exist. Error messages call the file ``what``.

    Raises:
        StoreError: the file cannot be read.
    """
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(
            f"The {what} {path} cannot be read ({error.strerror}). Run this command as the user that "
            "`answerback serve` runs as."
        ) from error


def replace(path: Path, text: str, what: str) -> None:
    """Replace the file atomically with one of mode 0600: a reader sees either the old file or the new one.

    Raises:
        StoreError: the file cannot be written.
    """
    _write(path, text, what, lambda temporary: temporary.replace(path))


def create(path: Path, text: str, what: str) -> None:
    """Create the file atomically with mode 0600, unless it exists: of several processes, one creates it.

    Raises:
        StoreError: the file cannot be written.
    """

    def put_in_place(temporary: Path) -> None:
        try:
            path.hardlink_to(temporary)
        except FileExistsError:
            pass
        except OSError:
            # Some file systems have no hard links. There, a reader may see it while it is written.
            with suppress(FileExistsError):
                _write_new(path, text)
        temporary.unlink()

    _write(path, text, what, put_in_place)


def _write(path: Path, text: str, what: str, put_in_place: Callable[[Path], object]) -> None:
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        _write_new(temporary, text)
        put_in_place(temporary)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreError(
            f"The {what} {path} cannot be written ({error.strerror}). Run this command as the user that "
            "`answerback serve` runs as, and give that user write permission on the directory."
        ) from error


def _write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet, whole or not at all."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(file, "w") as writing:
            writing.write(text)
            writing.flush()
            os.fsync(file)  # before the rename: a crash must not leave an empty file
    except OSError:
        path.unlink(missing_ok=True)
        raise
