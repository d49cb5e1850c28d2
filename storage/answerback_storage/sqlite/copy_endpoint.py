"""An SQLite file as the source or target of a copy; see `answerback_storage.store_copy`."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from answerback.core.errors import StoreError
from answerback_storage import rows
from answerback_storage.sqlite import asks
from answerback_storage.sqlite.connections import describe_error
from answerback_storage.sqlite.exclusive_lock import hold_exclusive_lock
from answerback_storage.sqlite.schema import LINK_LINES
from answerback_storage.sqlite.store import SqliteStore
from answerback_storage.store_copy import CopyTransaction


@contextmanager
def sqlite_endpoint(path: Path) -> Iterator[SqliteCopyTransaction]:
    """The file is created if it is missing. No other process may use it during the copy."""
    path = path.absolute()
    asyncio.run(_migrate(path))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        try:
            db.execute("PRAGMA synchronous = FULL")
            db.execute("BEGIN IMMEDIATE")
            yield SqliteCopyTransaction(db, str(path))
            db.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(describe_error(path, error)) from error


class SqliteCopyTransaction(CopyTransaction):
    def __init__(self, db: sqlite3.Connection, name: str) -> None:
        self.name = name
        self._db = db

    def read(self, table: str, columns: Sequence[str], batch_size: int) -> Iterator[list[rows.Row]]:
        cursor = self._db.execute(f"SELECT {', '.join(columns)} FROM {table}")
        while batch := cursor.fetchmany(batch_size):
            yield batch

    def write(self, table: str, columns: Sequence[str], new_rows: Sequence[rows.Row]) -> None:
        self._db.executemany(
            f"INSERT OR REPLACE INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
            new_rows,
        )

    def finish(self) -> None:
        """Index the asks for search and link their records. SQLite itself numbers new rows after the last one."""
        for statement in LINK_LINES:
            self._db.execute(statement)
        asks.index_existing_asks(self._db)


async def _migrate(path: Path) -> None:
    async with hold_exclusive_lock(path):
        store = SqliteStore(path)
        await store.open()
        await store.close()
