"""The lines of the record in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.core.ask import RecordEntry
from answerback.ports.store import Record
from answerback.ports.store_values import StoredEntry
from answerback_storage import rows
from answerback_storage.base_store import Part
from answerback_storage.postgres.database import PostgresDatabase
from answerback_storage.postgres.sql import Parameters

_TYPES: Final = ("text", "float8", "text", "text")
_READ: Final = """SELECT seq, at, entry FROM record
    WHERE ask_id = $1 AND seq > $2 ORDER BY seq LIMIT $3"""


def insert(params: Parameters, lines: Sequence[rows.Row], of_asks: str | None = None) -> str:
    """Build the part of a statement that adds lines to the record; with ``of_asks``, only for the ids in that query."""
    join = "" if of_asks is None else f"JOIN {of_asks} ON id = a"
    return f"""INSERT INTO record (ask_id, at, kind, entry) SELECT a, b, c, d
        FROM ({params.rows(lines, _TYPES)}) AS line (a, b, c, d, n) {join} ORDER BY n"""


class PostgresRecord(Part[PostgresDatabase], Record):
    """The record in a PostgreSQL database."""

    async def read(self, ask_id: str, after: int = 0, limit: int = 1000) -> Sequence[StoredEntry]:
        return [
            StoredEntry(seq, rows.entry_from_json(ask_id, seq, at, text.encode()))
            for seq, at, text in await self._db.read(_READ, ask_id, after, limit)
        ]

    async def add(self, ask_id: str | None, entry: RecordEntry) -> None:
        params = Parameters()
        statement = insert(params, rows.entry_rows(ask_id, [entry]))
        await self._db.write(statement, *params.values)

    async def last_time(self) -> float | None:
        found = await self._db.read("SELECT at FROM record ORDER BY seq DESC LIMIT 1")
        return found[0][0] if found else None
