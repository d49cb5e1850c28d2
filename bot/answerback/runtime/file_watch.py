"""Detect changes of a file by polling, because not every file system sends notifications."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final

_POLL_SECONDS: Final = 0.5
"""Seconds between two polls."""
Fingerprint = tuple[int, int, int, int] | None
"""A value that differs once a file has changed; None: there is no file."""


class FileWatcher:
    """A file, and its state when it was polled last.

    Args:
        path: the file; it may be missing, now or later.
        pause: waits until the next poll.
    """

    def __init__(self, path: Path, pause: Callable[[], Awaitable[object]] | None = None) -> None:
        self._path = path
        self._pause = pause or partial(asyncio.sleep, _POLL_SECONDS)
        self._known = fingerprint(path)

    async def wait_for_change(self) -> None:
        """Wait until the file has changed and two polls agree, so that it is not being written any more."""
        before = self._known
        while True:
            await self._pause()
            now = await asyncio.to_thread(fingerprint, self._path)
            if now == before != self._known:
                self._known = now
                return
            before = now


def fingerprint(path: Path) -> Fingerprint:
    """Return the fingerprint of a file, without opening it: that takes a microsecond or two."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
