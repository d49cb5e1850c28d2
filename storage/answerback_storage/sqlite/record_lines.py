"""The lines of the record in SQLite, appended and read by ask.

Batches of changes number their lines themselves (`change_batches`). Each line names the previous line of its ask, and
each ask its last line. With an index by ask instead, each clicked ask would write one more page, and a click would take
5 % more CPU time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from answerback.core.ask import RecordEntry
from answerback.ports.store import Record
from answerback.ports.store_values import ChangedAsks, StoredEntry
from answerback_storage import change_cursors, rows
from answerback_storage.base_store import Part
from answerback_storage.sqlite import asks
from answerback_storage.sqlite.runner import Runner

_READ: Final = """SELECT seq, at, CAST(entry AS BLOB) FROM record WHERE seq IN (
        WITH RECURSIVE line (seq) AS (
            SELECT last_line FROM asks WHERE id = ?1
            UNION ALL SELECT before FROM line JOIN record USING (seq) WHERE before > ?2
        ) SELECT seq FROM line WHERE seq > ?2
    ) ORDER BY seq LIMIT ?3"""
_CHANGED: Final = """SELECT 0, seq, ask_id FROM record
    WHERE seq > ? AND ask_id IS NOT NULL ORDER BY seq LIMIT ?"""
"""Only one transaction writes at a time, so that the lines have the order of the commits."""
_LINE_EXISTS: Final = "SELECT 1 FROM record WHERE seq = ? AND ask_id IS NOT NULL"
_LAST_TIME: Final = "SELECT at FROM record ORDER BY seq DESC LIMIT 1"
_LINK: Final = (
    """UPDATE record SET before = found.before FROM (
            SELECT seq, lag(seq) OVER (PARTITION BY ask_id ORDER BY seq) AS before FROM record WHERE ask_id IS NOT NULL
        ) AS found WHERE record.seq = found.seq AND found.before IS NOT NULL""",
    """UPDATE asks SET last_line = found.seq FROM (
            SELECT ask_id, max(seq) AS seq FROM record WHERE ask_id IS NOT NULL GROUP BY ask_id
        ) AS found WHERE asks.id = found.ask_id""",
)


def read(db: sqlite3.Connection, ask_id: str, after: int, limit: int) -> list[StoredEntry]:
    """Return the entries of an ask after a line number, oldest first."""
    found = db.execute(_READ, (ask_id, after, limit))
    return [StoredEntry(line[0], rows.entry_from_json(ask_id, *line)) for line in found]


class SqliteRecord(Part[Runner], Record):
    """The record in an SQLite file."""

    async def read(self, ask_id: str, after: int = 0, limit: int = 1000) -> Sequence[StoredEntry]:
        return await self._db.read(lambda db: read(db, ask_id, after, limit))

    async def list_changed(self, after: str, limit: int) -> ChangedAsks:
        _, last = change_cursors.parse_change_cursor(after)

        def run(db: sqlite3.Connection) -> ChangedAsks:
            if last and db.execute(_LINE_EXISTS, (last,)).fetchone() is None:
                raise ValueError(change_cursors.unknown_cursor(after))
            return change_cursors.changed_asks(
                db.execute(_CHANGED, (last, limit)).fetchall(), after, limit
            )

        return await self._db.read(run)

    async def add(self, ask_id: str | None, entry: RecordEntry) -> None:
        await self._db.write(lambda db: asks.add_lines(db, [(ask_id, entry)]))

    async def last_time(self) -> float | None:
        found = await self._db.read(lambda db: db.execute(_LAST_TIME).fetchone())
        return None if found is None else float(found[0])


def link_lines(db: sqlite3.Connection) -> None:
    """Link each line to the previous one and each ask to its last line, for rows that lack these links."""
    for statement in _LINK:
        db.execute(statement)
