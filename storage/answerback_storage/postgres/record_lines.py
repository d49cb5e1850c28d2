"""The lines of the record in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.core.ask import RecordEntry
from answerback.ports.store import Record
from answerback.ports.store_values import ChangedAsks, StoredEntry
from answerback_storage import change_cursors, rows
from answerback_storage.base_store import Part
from answerback_storage.postgres.database import PostgresDatabase
from answerback_storage.postgres.sql import Parameters

_TYPES: Final = ("text", "float8", "text", "text")
_READ: Final = """SELECT seq, at, entry FROM record
    WHERE ask_id = $1 AND seq > $2 ORDER BY seq LIMIT $3"""

_CHANGED: Final = """SELECT tx, seq, ask_id FROM record
    WHERE (tx, seq) > ($1, $2) AND tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint AND ask_id IS NOT NULL
    ORDER BY tx, seq LIMIT $3"""
"""Only lines of transactions before the oldest one in progress: no other line can appear among or before these.

https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-SNAPSHOT
"""
_LINE_EXISTS: Final = "SELECT 1 FROM record WHERE tx = $1 AND seq = $2 AND ask_id IS NOT NULL"
_RENUMBER: Final = """UPDATE record SET tx = pg_current_xact_id()::text::bigint
    WHERE tx >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint AND ask_id IS NOT NULL"""
"""Lines that were restored from another server count as new."""


def insert(params: Parameters, lines: Sequence[rows.Row], of_asks: str | None = None) -> str:
    """Build the part of a statement that adds lines to the record; with ``of_asks``, only for the ids in that query."""
    join = "" if of_asks is None else f"JOIN {of_asks} ON id = a"
    return f"""INSERT INTO record (ask_id, at, kind, entry) SELECT a, b, c, d
        FROM ({params.rows(lines, _TYPES)}) AS line (a, b, c, d, n) {join} ORDER BY n"""


class PostgresRecord(Part[PostgresDatabase], Record):
    """The record in a PostgreSQL database."""

    _is_renumbered = False

    async def read(self, ask_id: str, after: int = 0, limit: int = 1000) -> Sequence[StoredEntry]:
        return [
            StoredEntry(seq, rows.entry_from_json(ask_id, seq, at, text.encode()))
            for seq, at, text in await self._db.read(_READ, ask_id, after, limit)
        ]

    async def list_changed(self, after: str, limit: int) -> ChangedAsks:
        transaction, last = change_cursors.parse_change_cursor(after)
        if not self._is_renumbered:
            await self._db.write(_RENUMBER)
            self._is_renumbered = True
        if last and not await self._db.read(_LINE_EXISTS, transaction, last):
            raise ValueError(change_cursors.unknown_cursor(after))
        lines = await self._db.read(_CHANGED, transaction, last, limit)
        return change_cursors.changed_asks([(tx, seq, ask) for tx, seq, ask in lines], after, limit)

    async def add(self, ask_id: str | None, entry: RecordEntry) -> None:
        params = Parameters()
        statement = insert(params, rows.entry_rows(ask_id, [entry]))
        await self._db.write(statement, *params.values)

    async def last_time(self) -> float | None:
        found = await self._db.read("SELECT at FROM record ORDER BY seq DESC LIMIT 1")
        return found[0][0] if found else None
