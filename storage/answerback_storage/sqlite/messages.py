"""Asks by where they are shown, in SQLite."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from answerback.core.ask import Ask
from answerback.ports.live_messages import MessageQueries
from answerback_storage import rows
from answerback_storage.base_store import Part
from answerback_storage.sqlite import asks
from answerback_storage.sqlite import claim_statements as claims
from answerback_storage.sqlite.runner import Runner

_ENDED: Final = """SELECT seq FROM asks INDEXED BY asks_to_erase
    WHERE status <> 'open' AND erased_at IS NULL AND updated_at >= ? AND surface = ? AND channel = ?
    {in_thread} ORDER BY updated_at DESC"""
_MOVED: Final = """SELECT seq FROM asks WHERE left_channel = ? AND left_until >= ? AND erased_at IS NULL
    ORDER BY left_until DESC"""
_BY_MESSAGE: Final = f"""SELECT {rows.ASK_COLUMNS} FROM asks
    WHERE status = 'open' AND message IS NOT NULL AND surface = ? AND json_extract(message, '$.id') = ?"""
_OUTDATED: Final = f"""SELECT id FROM (SELECT id, updated_at, row_number() OVER (
        PARTITION BY surface, channel, message IS NULL ORDER BY updated_at
    ) AS turn FROM asks INDEXED BY asks_behind WHERE shown_revision < revision
        AND (?1 IS NULL OR show_holder = ?1 OR {claims.unclaimed("show_holder", "show_until", "?2")})
    ) ORDER BY turn, updated_at LIMIT ?3"""


class SqliteMessageQueries(Part[Runner], MessageQueries):
    """Asks by where they are shown, in an SQLite file."""

    async def find_open(
        self, surface: str, channel: str, thread: str | None, limit: int, after: str | None = None
    ) -> Sequence[Ask]:
        conditions = {
            "AND thread_id = ?": thread,
            "AND seq < (SELECT seq FROM asks WHERE id = ?)": after,
        }
        where = " ".join(term for term, value in conditions.items() if value is not None)
        values = [value for value in conditions.values() if value is not None]
        statement = f"""SELECT seq FROM asks WHERE status = 'open' AND surface = ?
            AND channel = ? {where} ORDER BY seq DESC"""
        return await self._load(statement, (surface, channel, *values), limit)

    async def find_ended(
        self, surface: str, channel: str, thread: str | None, since: float, limit: int
    ) -> Sequence[Ask]:
        in_thread, values = ("", ()) if thread is None else ("AND thread_id = ?", (thread,))
        statement = _ENDED.format(in_thread=in_thread)
        return await self._load(statement, (since, surface, channel, *values), limit)

    async def find_moved(
        self, surface: str, channel: str, thread: str | None, since: float, limit: int
    ) -> Sequence[Ask]:
        values = (rows.left_channel_key(surface, channel), since)

        def run(db: sqlite3.Connection) -> Sequence[Ask]:
            seqs = (seq for (seq,) in db.execute(_MOVED, values))
            return rows.moved_from(asks.load_many(db, self._db.requests, seqs), thread, limit)

        return await self._db.read(run)

    async def _load(self, statement: str, values: Sequence[Any], limit: int) -> Sequence[Ask]:
        """Return the first readable asks whose rows a statement finds."""

        def run(db: sqlite3.Connection) -> Sequence[Ask]:
            seqs = (seq for (seq,) in db.execute(statement, values))
            return list(islice(asks.load_many(db, self._db.requests, seqs), limit))

        return await self._db.read(run)

    async def find_by_message(self, surface: str, message_id: str) -> Ask | None:
        def run(db: sqlite3.Connection) -> Ask | None:
            row = db.execute(_BY_MESSAGE, (surface, message_id)).fetchone()
            return None if row is None else asks.ask(db, self._db.requests, row)

        return await self._db.read(run)

    async def list_outdated(self, limit: int, free_for: str | None = None) -> Sequence[str]:
        values = (free_for, time.monotonic(), limit)
        found = await self._db.read(lambda db: db.execute(_OUTDATED, values).fetchall())
        return [ask_id for (ask_id,) in found]
