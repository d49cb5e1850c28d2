"""The SQLite file: how it is created, recognised, opened, migrated and reopened, and what its errors mean.

Owns the two connections, one that writes and one that reads, each used by one thread. Every method blocks, so none may
be called on the event loop.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from answerback.core.errors import CommitUnknownError, StoreError
from answerback_storage.rows import concerns_one_row, invalid_text_error
from answerback_storage.sqlite import asks
from answerback_storage.sqlite.change_batches import Batch, ChangeJob
from answerback_storage.sqlite.migrations import create_if_empty, is_current
from answerback_storage.sqlite.writer_thread import Job

logger = logging.getLogger(__name__)

_WAL_PAUSE: Final = 0.01
"""Seconds between two attempts to switch the file to write-ahead logging."""

MAX_VACUUM_BYTES: Final = 32 * 1024 * 1024
"""The largest file, in bytes, that is rewritten after an erasure: with a larger one, clicks would wait too long."""

_PRAGMAS: Final = (
    "synchronous = FULL",
    "recursive_triggers = ON",  # otherwise INSERT OR REPLACE deletes rows without firing triggers
    "secure_delete = ON",  # overwrite erased data, including pages that are no longer used
    f"journal_size_limit = {64 * 1024 * 1024}",  # bytes to which the log is truncated after a burst
)

_EXPLANATIONS: Final = {
    sqlite3.SQLITE_FULL: "the disk is full, or the file has reached its limit. Free some space;"
    " no restart is needed",
    sqlite3.SQLITE_BUSY: "it is locked by another process. Stop that process (a second Answerback,"
    " a backup, an open SQLite shell), or try again",
    sqlite3.SQLITE_LOCKED: "it is locked by another connection. Try again",
    sqlite3.SQLITE_READONLY: "it is not writable. Give the user that Answerback runs as write"
    " permission on the file and on its directory",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened. Check the permissions of the file and of its"
    " directory, where SQLite keeps two more files",
    # SQLite also reports this if the disk fails to read (EIO): it replaces SQLITE_IOERR_CORRUPTFS.
    sqlite3.SQLITE_CORRUPT: "the disk failed to read it, or it is damaged: SQLite reports both alike. Check the disk"
    " and the system's log first; if they report no error, restore a backup, or rescue what can be read with"
    " `sqlite3 FILE .recover`",
    sqlite3.SQLITE_NOTADB: "it is not an SQLite database, or it is damaged. Name another file, or"
    " restore a backup",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write. Check the disk and the system's log",
}


_Job = Job[sqlite3.Connection, Any]


def describe_error(path: Path, error: sqlite3.Error) -> str:
    """Describe what went wrong with the database, and what to do."""
    why = _EXPLANATIONS.get(
        _code(error), "SQLite rejected the statement. This is a bug in Answerback"
    )
    return f"The database {path}: {why} ({getattr(error, 'sqlite_errorname', '?')}: {error})."


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code, or 0 if the error is not SQLite's own."""
    extended: int = getattr(error, "sqlite_errorcode", 0)
    return extended & 0xFF


def make_file(path: Path) -> None:
    """Create the file, readable by its owner only. SQLite's two files next to it inherit its permissions.

    Raises:
        StoreError: it cannot be created or used. The message says why.
    """
    directory = path.parent
    if not directory.is_dir():
        raise StoreError(
            f"The database {path} cannot be created: there is no directory {directory}."
            " Create it, or set `storage.url` to a file in a directory that exists."
        )
    if path.is_dir():
        raise StoreError(f"The database {path} is a directory: set `storage.url` to a file in it.")
    # Do not open an existing file: closing it would drop the locks that other connections of this process hold on it.
    with contextlib.suppress(FileExistsError, PermissionError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    check_access(path)


def check_access(path: Path) -> None:
    """Check that a file and its directory, where SQLite keeps two more files, are readable and writable.

    Raises:
        StoreError: they are not. The message says which.
    """
    for needed in (path.parent, path):
        if not os.access(needed, os.R_OK | os.W_OK):
            raise StoreError(
                f"The database {path} cannot be used: {needed} is not readable and"
                " writable. Give the user that Answerback runs as both permissions on the file"
                " and on its directory, or set `storage.url` to another location."
            )


def unapplied_migrations(path: Path) -> list[str] | None:
    """Return the migrations that a start would apply, or None if there is no file or nothing in it. Changes nothing.

    Raises:
        StoreError: it cannot be used; DatabaseTooNewError, if a newer Answerback wrote it. The message says why.
    """
    if not path.exists():
        return None
    # With mode=ro, SQLite would leave its two other files beside it: https://www.sqlite.org/wal.html#read_only_databases
    address = f"{path.absolute().as_uri()}?mode=rw"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True, isolation_level=None)) as db:
            db.execute("PRAGMA query_only = ON")
            if is_current(db):
                return []
            from answerback_storage.sqlite import migrate

            migrate.recognise(db, path)
            return migrate.unapplied(db)
    except sqlite3.Error as error:
        raise StoreError(describe_error(path, error)) from error


class Connections:
    """The file's two connections, and how batches of jobs run on them.

    Args:
        path: the file. It is created if it is missing; its directory is not.
        busy_timeout: seconds to wait for another process's lock.
        batch: what the changes among the jobs of a transaction share.
    """

    def __init__(self, path: Path, busy_timeout: float, batch: Batch) -> None:
        self.path = path
        self._batch = batch
        self._busy_timeout = busy_timeout
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._reader_lock = threading.Lock()
        """Held while the reading connection is used, opened or closed."""
        self._inode = (0, 0)

    def open(self) -> None:
        """Create the file if necessary, recognise it, and migrate it.

        Raises:
            DatabaseTooNewError: a newer Answerback wrote it.
            StoreError: it cannot be used.
        """
        make_file(self.path)
        try:
            connection = self._connect()
            try:
                if not (is_current(connection) or create_if_empty(connection)):
                    from answerback_storage.sqlite import migrate

                    migrate.recognise(connection, self.path)
                    migrate.migrate(connection)
            finally:
                connection.close()
            self._writer = self._connect_writer()
        except sqlite3.Error as error:
            raise StoreError(describe_error(self.path, error)) from error
        stat = self.path.stat()
        self._inode = (stat.st_dev, stat.st_ino)

    def close(self) -> None:
        """Close both connections. Each is reopened when it is needed. The last one to close checkpoints the log."""
        with self._reader_lock:
            connections = [c for c in (self._reader, self._writer) if c is not None]
            self._reader = self._writer = None
            self._batch.forget()
            for connection in connections:
                # A cursor that an exception keeps alive would keep the transaction and its lock open.
                with contextlib.suppress(sqlite3.Error):
                    connection.rollback()
                connection.close()

    def write(self, jobs: Sequence[_Job]) -> None:
        """Run jobs in one durable transaction. A job that fails does not affect the others."""
        try:
            connection = self._begin()
            if not self._attempt_all(jobs, connection):
                connection.rollback()
                self._batch.forget()
                # Nothing of this batch is stored, so run each job again in a transaction of its own.
                for job in jobs if len(jobs) > 1 else ():
                    self.write([job])
                return
        except sqlite3.Error as error:
            self._batch.forget()
            if len(jobs) > 1 and concerns_one_row(error):
                self.close()
                for job in jobs:
                    self.write([job])
                return
            self._fail(jobs, error)
            if _code(error) != sqlite3.SQLITE_BUSY:
                self.close()
            return
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._outcome_unknown(jobs, error)

    def _attempt_all(self, jobs: Sequence[_Job], connection: sqlite3.Connection) -> bool:
        """Return whether every job completed its writes or wrote nothing. Otherwise the transaction cannot be used."""
        changes = [job for job in jobs if isinstance(job.run, ChangeJob)]
        others: Sequence[_Job] = ()
        if len(changes) < len(jobs):
            others = [job for job in jobs if not isinstance(job.run, ChangeJob)]
        # Before the other jobs, which could outdate the rows that the changes have read.
        if changes and not self._attempt_changes(changes, jobs, connection):
            return False
        if others:
            self._batch.lines_moved = True
        return all(self._left_consistent(job, connection) for job in others)

    def _attempt_changes(
        self,
        changes: Sequence[_Job],
        jobs: Sequence[_Job],
        connection: sqlite3.Connection,
    ) -> bool:
        try:
            self._batch.begin(connection, [job.run for job in changes])  # type: ignore[misc] # chosen by their kind
        except (StoreError, ValueError) as error:  # a row that one of the jobs needs cannot be read
            for job in jobs:
                job.error = error if isinstance(error, StoreError) else invalid_text_error(error)
            return False
        if not all(self._left_consistent(job, connection) for job in changes):
            return False
        self._batch.finish(connection)
        return True

    def _left_consistent(self, job: _Job, connection: sqlite3.Connection) -> bool:
        """Return whether a job completed its writes or wrote nothing."""
        before = connection.total_changes
        self._attempt(job, connection)
        if job.error is None:
            return True
        self._batch.forget()  # the rows that it was decided on may be outdated
        # If the disk is full, SQLite itself rolls everything back.
        return connection.in_transaction and connection.total_changes == before

    def read(self, jobs: Sequence[_Job]) -> None:
        """Run jobs that only read. Each sees everything that was committed before it was submitted."""
        with self._reader_lock:
            try:
                if self._reader is None:
                    self._check_in_place()
                    self._reader = self._connect()
                    self._reader.execute("PRAGMA query_only = ON")
            except sqlite3.Error as error:
                self._fail(jobs, error)
                return
            for job in jobs:
                self._attempt(job, self._reader)

    def tidy(self) -> None:
        """Remove overwritten data from the file and its log.

        SQLite overwrites what it deletes, but not the copies that remain in unused parts of a page when rows move to
        another one. A file of moderate size is therefore rewritten.

        Raises:
            StoreError: another process keeps reading the file, or it cannot be written. What was committed remains
                committed.
        """
        try:
            with contextlib.closing(self._connect()) as connection:
                asks.tidy_index(connection)
                if self.path.stat().st_size <= MAX_VACUUM_BYTES:
                    connection.execute("VACUUM")
                with self._reader_lock:  # otherwise our own reads would keep the log
                    (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error as error:
            raise StoreError(describe_error(self.path, error)) from error
        if busy:
            raise StoreError(
                f"The database {self.path}: erased content is still in its log, because another process is reading the"
                " file (a backup, an open SQLite shell)."
            )

    def _attempt(self, job: _Job, connection: sqlite3.Connection) -> None:
        job.execute(connection)
        if job.error is None:
            return
        if isinstance(job.error, sqlite3.Error):
            self._fail([job], job.error)
        elif isinstance(job.error, UnicodeEncodeError):
            job.error = invalid_text_error(job.error)

    def _fail(
        self,
        jobs: Sequence[_Job],
        error: sqlite3.Error,
        kind: type[StoreError] = StoreError,
        suffix: str = "",
    ) -> None:
        for job in jobs:
            job.error = kind(describe_error(self.path, error) + suffix)
            job.error.__cause__ = error

    def _check_in_place(self) -> None:
        """Raise StoreError if the open file is no longer the one at its path, where the next start looks for it."""
        try:
            stat = self.path.stat()
        except OSError:
            stat = None
        if stat is None or (stat.st_dev, stat.st_ino) != self._inode:
            raise StoreError(
                f"The database {self.path} was removed or replaced while it was in use, so nothing is stored any more."
                " Put the right file in place and restart Answerback."
            )

    def _begin(self) -> sqlite3.Connection:
        self._check_in_place()
        if self._writer is None:
            self._writer = self._connect_writer()
        self._writer.execute("BEGIN IMMEDIATE")
        return self._writer

    def _outcome_unknown(self, jobs: Sequence[_Job], error: sqlite3.Error) -> None:
        """Report that a COMMIT failed and its outcome is unknown: SQLite's recovery settles whether it is on disk.

        Recovery runs at the next open if no connection has the file open, so both connections are closed.
        """
        logger.error(
            "commit failed", extra={"action": "commit", "error": describe_error(self.path, error)}
        )
        self._batch.forget()
        unknown = " It is not known whether the last change was stored. Read again before retrying."
        self._fail(jobs, error, CommitUnknownError, unknown)
        self.close()

    def _connect(self) -> sqlite3.Connection:
        # One thread at a time uses a connection, but the writer's thread closes and reopens it.
        return sqlite3.connect(
            self.path,
            timeout=self._busy_timeout,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )

    def _connect_writer(self) -> sqlite3.Connection:
        connection = self._connect()
        try:
            _use_wal(connection, self._busy_timeout)
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection


def _use_wal(connection: sqlite3.Connection, patience: float) -> None:
    """Switch the file to write-ahead logging permanently.

    If two connections switch at the same moment, SQLite refuses one at once, whatever its busy timeout, because each
    would wait for the other. So this function waits instead, for up to ``patience`` seconds.
    """
    until = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(_WAL_PAUSE)
        else:
            return
