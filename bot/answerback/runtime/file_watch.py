"""Hearing of a file that has changed: by looking, since not every file system tells."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Final

POLL_SECONDS: Final = 0.5
"""Seconds between two looks."""
_Look = tuple[int, int, int] | None


class FileWatcher:
    """A file, as it was when it was looked at last.

    Args:
        path: it may be missing, now or later.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = _look(path)

    async def wait_for_change(self) -> None:
        """Returns once the file is another than before, and two looks agree: nobody is writing it just now."""
        before = self._known
        while True:
            await asyncio.sleep(POLL_SECONDS)
            now = await asyncio.to_thread(_look, self._path)
            if now == before != self._known:
                self._known = now
                return
            before = now


def _look(path: Path) -> _Look:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
