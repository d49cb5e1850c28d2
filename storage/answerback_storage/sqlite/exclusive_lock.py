"""One running service a database: two would show every ask twice, and never wake each other's waiters."""

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
    """Holds a database for this process, until the context or the process ends, however it ends.

    The lock is on the database file itself, so it holds under every name of the file. It is a `flock`, which SQLite's
    own locks (`fcntl`) do not meet. Closing any handle of a file drops the `fcntl` locks that this process has on it
    (https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_): so the
    store is opened inside this context and closed before it ends, and a database that is held here is not opened again.

    Raises:
        StoreError: another service holds it, or it cannot be opened or made; in words.
    """
    handle = None
    while handle is None:  # again only where another program replaced the file in this very moment
        handle = await asyncio.to_thread(_locked, path)
    try:
        yield
    finally:
        _release(handle)


def _release(handle: int) -> None:
    with _guard:
        _held.discard(_identity(os.fstat(handle)))
        os.close(handle)


def _locked(path: Path) -> int | None:
    """A handle with the lock; None where the path leads to another file meanwhile."""
    make_file(path)
    with _guard:
        if path.exists() and _identity(path.stat()) in _held:
            raise _in_use(path)
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
    names = os.fstat(handle).st_nlink
    if names > 1:
        raise StoreError(
            f"The database {path} has {names} names (hard links). SQLite keeps its log beside the name that a file "
            "is opened by: under another name, what is in the log would be lost. Remove the other names; a symbolic "
            "link can be used."
        )
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _in_use(path) from None
    except OSError as error:
        raise StoreError(
            f"The database {path} cannot be locked ({error.strerror}). Set `storage.url` to a file on a local disk."
        ) from error


def _identity(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_dev, stat.st_ino


def _in_use(path: Path) -> StoreError:
    return StoreError(
        f"Another Answerback is running on the database {path}. Stop it first, or set `storage.url` to "
        "another file: two on one file would ask everybody twice."
    )
