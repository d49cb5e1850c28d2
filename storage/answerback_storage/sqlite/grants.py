"""Grants, in an SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from typing import Final

from answerback.core.grants import Grant, GrantChange, GrantEnd, GrantUse
from answerback.ports.store import GrantStore
from answerback_storage import grant_rows, rows
from answerback_storage.base_store import Part
from answerback_storage.sqlite.runner import Runner

TABLES: Final = (
    """CREATE TABLE grants (
        id TEXT PRIMARY KEY,
        scope TEXT NOT NULL,
        ask_id TEXT NOT NULL,
        at REAL NOT NULL,
        until REAL NOT NULL,
        uses INTEGER NOT NULL,
        used INTEGER NOT NULL,
        ended_at REAL,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX grants_by_scope ON grants (scope)",
    "CREATE INDEX grants_by_time ON grants (at)",
)
ERASE: Final = "DELETE FROM grants WHERE ask_id = ?1"
END_ALL: Final = "UPDATE grants SET ended_at = ? WHERE ended_at IS NULL"
_SELECT: Final = f"SELECT {grant_rows.COLUMNS} FROM grants"
_INSERT: Final = f"INSERT INTO grants ({grant_rows.COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_USE: Final = """UPDATE grants SET used = used + 1 WHERE id = ?1 AND used = ?2 - 1 AND used < uses
    AND at <= ?3 AND until > ?3 AND ended_at IS NULL"""
_END: Final = "UPDATE grants SET ended_at = ?2 WHERE id = ?1 AND ended_at IS NULL"


def store(db: sqlite3.Connection, change: GrantChange) -> bool:
    """Store what becomes of a grant; False if it is to be used, and cannot be any more."""
    if isinstance(change, GrantUse):
        return db.execute(_USE, change).rowcount == 1
    if isinstance(change, GrantEnd):
        db.execute(_END, change)
    else:
        db.execute(_INSERT, grant_rows.row(change))
    return True


class SqliteGrants(Part[Runner], GrantStore):
    """Grants in an SQLite file."""

    async def find(self, scopes: Collection[str]) -> Sequence[Grant]:
        where = """WHERE scope IN (SELECT value FROM json_each(?)) AND used < uses AND ended_at IS NULL
            ORDER BY until, id"""
        return await self._select(where, rows.dump([*scopes]))

    async def get(self, grant_id: str) -> Grant | None:
        found = await self._select("WHERE id = ?", grant_id)
        return found[0] if found else None

    async def newest(self, limit: int) -> Sequence[Grant]:
        return await self._select("ORDER BY at DESC, id LIMIT ?", limit)

    async def _select(self, where: str, value: str | int) -> list[Grant]:
        statement = f"{_SELECT} {where}"
        found = await self._db.read(lambda db: db.execute(statement, (value,)).fetchall())
        return [grant_rows.read(row) for row in found]
