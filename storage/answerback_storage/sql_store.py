"""The parts that the stores in both databases are composed of."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from answerback.ports.claims import RemoteChanges
from answerback.ports.store import Drafts, Store
from answerback_storage import rows
from answerback_storage.erasure import SqlErasure
from answerback_storage.extension_rows import SqlExtensionRows
from answerback_storage.files import SqlFiles
from answerback_storage.grants import SqlGrants
from answerback_storage.late_answers import SqlLateAnswers
from answerback_storage.sql_database import Part, SqlDatabase, placeholders

_ROUTES_OF_OPEN: Final = """WITH RECURSIVE found (route) AS (
        SELECT (SELECT route FROM asks WHERE status = 'open' ORDER BY route LIMIT 1)
        UNION ALL SELECT (SELECT asks.route FROM asks WHERE status = 'open' AND asks.route > found.route
            ORDER BY asks.route LIMIT 1) FROM found WHERE found.route IS NOT NULL
    ) SELECT route FROM found WHERE route IS NOT NULL"""
"""Steps through the index ``asks_open_of_route`` from one route to the next, without the asks of each."""


class SqlStore(Store):
    """A store in a database."""

    def __init__(self, db: SqlDatabase, changes: RemoteChanges) -> None:
        self._db = db
        self.grants = SqlGrants(db)
        self.late_answers = SqlLateAnswers(db)
        self.rows = SqlExtensionRows(db)
        self.files = SqlFiles(db)
        self.erasure = SqlErasure(db, changes, self.files)
        self.drafts = SqlDrafts(db)

    async def secret(self, name: str) -> bytes:
        insert = "INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING"
        await self._db.execute(insert, name, secrets.token_bytes(32))
        found = await self._db.fetch("SELECT value FROM secrets WHERE name = $1", name)
        return bytes(found[0][0])

    async def oldest_open(self) -> Mapping[str, float]:
        oldest = {}
        for (route,) in await self._db.fetch(_ROUTES_OF_OPEN):
            query = "WHERE status = 'open' AND route = $1 ORDER BY seq"
            for _, ask in await self._db.find(query, (route,), 1):
                oldest[route] = ask.created_at - ask.schedule.clock_set_back
        return oldest


class SqlDrafts(Part[SqlDatabase], Drafts):
    def __init__(self, db: SqlDatabase) -> None:
        super().__init__(db)
        key = db.primary_key("drafts")
        columns = dict.fromkeys(("key", "value", "at", "ask_id", key))
        self._insert = f"""INSERT INTO drafts ({", ".join(columns)}) VALUES ({placeholders(len(columns))})
            ON CONFLICT ({key})"""
        """The statement that stores a draft, without what to do if there is one."""

    async def get(self, key: str) -> JsonValue:
        return _draft_of(await self._read(key))

    async def change(
        self, key: str, change: Callable[[JsonValue], JsonValue], at: float
    ) -> JsonValue:
        while True:
            stored = await self._read(key)
            changed = change(_draft_of(stored))
            if await self._replace(key, stored, changed, at):
                return changed

    async def _read(self, key: str) -> bytes | None:
        condition, values = self._db.key("drafts", key)
        value = self._db.as_bytes.format("value")
        found = await self._db.fetch(f"SELECT {value} FROM drafts WHERE {condition}", *values)
        return found[0][0] if found else None

    async def _replace(self, key: str, stored: bytes | None, value: JsonValue, at: float) -> bool:
        """Store or (with None) drop a draft if its JSON is still ``stored``; return whether it was."""
        condition, values = self._db.key("drafts", key)
        same = f"{condition} AND {self._db.as_bytes.format('value')} = $2"
        match stored, value:
            case None, None:
                return True
            case None, _:
                insert = f"{self._insert} DO NOTHING RETURNING 1"
                found = await self._db.execute(insert, *self._row(key, value, at))
            case _, None:
                delete = f"DELETE FROM drafts WHERE {same} RETURNING 1"
                found = await self._db.execute(delete, *values, stored)
            case _:
                update = f"UPDATE drafts SET value = $3, at = $4 WHERE {same} RETURNING 1"
                found = await self._db.execute(update, *values, stored, rows.dump(value), at)
        return bool(found)

    async def save(self, key: str, value: JsonValue, at: float, ask_id: str = "") -> None:
        condition, values = self._db.key("drafts", key)
        if value is None:
            await self._db.execute(f"DELETE FROM drafts WHERE {condition}", *values)
        else:
            insert = f"""{self._insert}
                DO UPDATE SET value = excluded.value, at = excluded.at, ask_id = excluded.ask_id"""
            await self._db.execute(insert, *self._row(key, value, at, ask_id))

    def _row(self, key: str, value: JsonValue, at: float, ask_id: str = "") -> Sequence[object]:
        _, primary_key = self._db.key("drafts", key)
        return (key, rows.dump(value), at, rows.draft_ask_id(key, ask_id), *primary_key)


def _draft_of(stored: bytes | None) -> JsonValue:
    draft = None if stored is None else rows.read_value(stored, "drafts")
    return None if draft is None else draft[0]
