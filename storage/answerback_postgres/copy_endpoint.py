"""A PostgreSQL database as the source or target of a copy; see `answerback_storage.store_copy`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import psycopg
from psycopg import IsolationLevel
from pydantic_core import from_json

from answerback.core.errors import StoreError
from answerback_postgres import driver_errors, search
from answerback_postgres.asks import message_id, unique_hash
from answerback_postgres.connections import AdapterContext, Database
from answerback_postgres.migrations import migrate
from answerback_storage import rows
from answerback_storage.extension_rows import schema_tables
from answerback_storage.sql_database import KEYS
from answerback_storage.store_copy import CopyTransaction


def _hash(columns: Sequence[str], row: Mapping[str, Any]) -> bytes:
    return unique_hash(*(row[column] for column in columns))


_DERIVED_COLUMNS: Final[Mapping[str, tuple[str, Callable[[Mapping[str, Any]], object]]]] = {
    "asks": (
        "message_id",
        lambda row: message_id(None if row["message"] is None else from_json(row["message"])),
    ),
    **{table: ("hash", partial(_hash, columns)) for table, columns in KEYS.items()},
}
"""The column of each table that only this store has, and the function that computes it from the row."""
_NUMBERED: Final = ("requests", "record", "deliveries", "owed", "extension_rows")


def _numbered() -> list[str]:
    """Return the tables whose rows the database numbers."""
    return [*_NUMBERED, *(table.name for table in schema_tables() if table.given_number)]


@contextmanager
def postgres_endpoint(url: str) -> Iterator[PostgresCopyTransaction]:
    """The transaction is on a snapshot of the database. That must exist; its tables need not."""
    name = driver_errors.display_name(url)
    asyncio.run(_migrate(url))
    try:
        with psycopg.connect(url, context=AdapterContext()) as connection:
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            yield PostgresCopyTransaction(connection, name)
    except psycopg.Error as error:
        raise StoreError(driver_errors.describe_error(name, error)) from error


class PostgresCopyTransaction(CopyTransaction):
    def __init__(self, connection: psycopg.Connection, name: str) -> None:
        self.name = name
        self._connection = connection

    def read(self, table: str, columns: Sequence[str], batch_size: int) -> Iterator[list[rows.Row]]:
        with self._connection.cursor(name="copied") as cursor:
            cursor.execute(f"SELECT {', '.join(columns)} FROM {table}".encode())
            while batch := cursor.fetchmany(batch_size):
                yield batch

    def write(self, table: str, columns: Sequence[str], new_rows: Sequence[rows.Row]) -> None:
        if table == "listed":
            self._connection.execute(b"DELETE FROM listed")
        name, make = _DERIVED_COLUMNS.get(table, ("", None))
        if make is not None:
            new_rows = [(*row, make(dict(zip(columns, row, strict=True)))) for row in new_rows]
            columns = (*columns, name)
        values = ", ".join(["%s"] * len(columns))
        overriding = "OVERRIDING SYSTEM VALUE" if table in _numbered() else ""
        with self._connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {table} ({', '.join(columns)}) {overriding} VALUES ({values})".encode(),
                new_rows,
            )

    def finish(self) -> None:
        """Advance the sequences past the inserted rows, and index the asks for search."""
        for (seq,) in self._connection.execute(b"SELECT seq FROM asks").fetchall():
            found = self._connection.execute(search.select_indexable_row(seq)).fetchall()
            for statement in search.index_statements(seq, found):
                self._connection.execute(statement)
        for table in _numbered():
            self._connection.execute(
                f"""SELECT setval(pg_get_serial_sequence('{table}', 'seq'), greatest(max(seq), 1),
                    max(seq) IS NOT NULL) FROM {table}""".encode()
            )


async def _migrate(url: str) -> None:
    database = Database(url)
    try:
        await migrate(database)
    finally:
        await database.close()
