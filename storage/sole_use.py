"""One running service a database file: two would show every ask twice, and wake each other's waiters never."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.errors import StoreError


@contextmanager
def sole_use(path: Path) -> Iterator[None]:
    """Holds a database for this process, until the context or the process ends, however it ends.

    The lock is on a file of its own beside the database (``….lock``): closing a second handle on
    the database itself would drop SQLite's own locks (https://www.sqlite.org/howtocorrupt.html).

    Raises:
        StoreError: another process holds it, or the lock file cannot be made; in words.
    """
    beside = path.with_name(f"{path.name}.lock")
    try:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(
            f"The lock file {beside} cannot be made ({error.strerror}). Give the user that Answerback runs as "
            "write permission on the directory, or set `storage.url` to another place."
        ) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"Another Answerback is running on the database {path}. Stop it first, or set `storage.url` to "
                "another file: two on one file would ask everybody twice."
            ) from None
        yield
    finally:
        os.close(handle)
