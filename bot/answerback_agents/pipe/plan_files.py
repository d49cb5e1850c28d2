"""Reads the files that hosts write plans to, on the machine where the host runs."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

_MAX_FILE: Final = 10**6
"""Bytes of a plan's file."""


def read_plan(named: str, folder: Path) -> str | None:
    """Read a plan's file; None if it is empty, too long or no regular file in this folder, links resolved."""
    try:
        file = Path(named).resolve(strict=True)
        if not file.is_relative_to(folder.resolve(strict=True)):
            return None
        content = read_file(file, _MAX_FILE)
    except (OSError, ValueError, RuntimeError):  # RuntimeError: links that lead to themselves
        return None
    return content.decode(errors="replace") if 0 < len(content) <= _MAX_FILE else None


def read_file(path: Path, most: int, *, from_end: bool = False) -> bytes:
    """Read a regular file up to one byte more than the given number; a pipe or a device would not end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a regular file")
        if from_end:
            file.seek(max(0, status.st_size - most))
        return file.read(most + 1)
