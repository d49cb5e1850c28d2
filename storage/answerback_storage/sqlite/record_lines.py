"""The record's lines in SQLite, on a connection inside a transaction of the caller's: added at the end, read by ask.

Changes of many asks at once number their lines themselves (`changes`).
Each line names the ask's line before it, and each ask its last one. With an index by ask instead, each ask that is
clicked on has one page more written, and a click takes 5 % more of the processor.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final

from answerback.core.ask import RecordEntry
from answerback.ports.store_values import StoredEntry
from answerback_storage import rows

_ADD: Final = """INSERT INTO record (ask_id, at, kind, entry, before)
    VALUES (?1, ?2, ?3, ?4, (SELECT last_line FROM asks WHERE id = ?1)) RETURNING seq"""
_READ: Final = """SELECT seq, at, CAST(entry AS BLOB) FROM record WHERE seq IN (
        WITH RECURSIVE line (seq) AS (
            SELECT last_line FROM asks WHERE id = ?1
            UNION ALL SELECT before FROM line JOIN record USING (seq) WHERE before > ?2
        ) SELECT seq FROM line WHERE seq > ?2
    ) ORDER BY seq LIMIT ?3"""
_CHAIN: Final = (
    """UPDATE record SET before = found.before FROM (
            SELECT seq, lag(seq) OVER (PARTITION BY ask_id ORDER BY seq) AS before FROM record WHERE ask_id IS NOT NULL
        ) AS found WHERE record.seq = found.seq AND found.before IS NOT NULL""",
    """UPDATE asks SET last_line = found.seq FROM (
            SELECT ask_id, max(seq) AS seq FROM record WHERE ask_id IS NOT NULL GROUP BY ask_id
        ) AS found WHERE asks.id = found.ask_id""",
)


def add(db: sqlite3.Connection, entries: Iterable[tuple[str | None, RecordEntry]]) -> None:
    """Adds lines to the record, each of an ask or (None) of none."""
    for ask_id, entry in entries:
        [row] = rows.entry_rows(ask_id, [entry])
        (seq,) = db.execute(_ADD, row).fetchone()
        db.execute("UPDATE asks SET last_line = ? WHERE id = ?", (seq, ask_id))


def read(db: sqlite3.Connection, ask_id: str, after: int, limit: int) -> list[StoredEntry]:
    """The record of an ask behind a number, oldest first."""
    found = db.execute(_READ, (ask_id, after, limit))
    return [StoredEntry(line[0], rows.entry_from_json(ask_id, *line)) for line in found]


def link_lines(db: sqlite3.Connection) -> None:
    """Has each line name the one before it, and each ask its last, where they came without."""
    for statement in _CHAIN:
        db.execute(statement)
