"""Allow one running service per database: two would show every ask twice, and never wake each other's waiters."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Lock
from typing import Final

from answerback.core.errors import StoreError
from answerback_storage.sqlite.connections import make_file

_held: Final[set[tuple[int, int]]] = set()
"""Device and inode of the databases that this process holds."""
_guard: Final = Lock()


@asynccontextmanager
async def hold_exclusive_lock(path: Path) -> AsyncIterator[None]:
    """Lock a database for this process until the context or the process ends, however it ends.

    The lock is on the database file itself, so it holds under every name of the file. It is a `flock`, which does not
    interact with SQLite's own locks (`fcntl`). Closing any handle of a file drops the `fcntl` locks that this process
    has on it
    (https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_).
    So the store must be opened inside this context and closed before it ends, and a database that is held here must
    not be opened again.

    Raises:
        StoreError: another service holds it, or it cannot be opened or created. The message says which.
    """
    handle = None
    while handle is None:  # loops only if another program replaced the file at this very moment
        handle = await asyncio.to_thread(_open_locked, path)
    try:
        yield
    finally:
        _release(handle)


def _release(handle: int) -> None:
    with _guard:
        _held.discard(_identity(os.fstat(handle)))
        os.close(handle)


def _open_locked(path: Path) -> int | None:
    """Return a handle with the lock, or None if the path now leads to another file."""
    make_file(path)
    with _guard:
        if path.exists() and _identity(path.stat()) in _held:
            raise _in_use_error(path)
        try:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            _lock(handle, path)
            if not path.exists() or _identity(path.stat()) != _identity(os.fstat(handle)):
                os.close(handle)
                return None
        except BaseException:
            os.close(handle)
            raise
        _held.add(_identity(os.fstat(handle)))
        return handle


def _lock(handle: int, path: Path) -> None:
    link_count = os.fstat(handle).st_nlink
    if link_count > 1:
        raise StoreError(
            f"The database {path} has {link_count} names (hard links). SQLite keeps its log next to the name that "
            "a file is opened by, so its contents would be lost under another name. Remove the other names. A symbolic "
            "link is fine."
        )
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _in_use_error(path) from None
    except OSError as error:
        raise StoreError(
            f"The database {path} cannot be locked ({error.strerror}). Set `storage.url` to a file on a local disk."
        ) from error


def _identity(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_dev, stat.st_ino


def _in_use_error(path: Path) -> StoreError:
    return StoreError(
        f"Another Answerback is running on the database {path}. Stop it first, or set `storage.url` to "
        "another file. Two services on one file would ask everything twice."
    )
