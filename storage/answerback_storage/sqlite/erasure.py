"""Erase what was written in ended asks, in SQLite; see `answerback.ports.store.Erasure`."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Collection, Sequence
from typing import Final

from answerback.core.ask import Ask
from answerback.core.erasure import erase_ask, erase_entry
from answerback.ports.store import Erasure
from answerback_storage import rows
from answerback_storage.base_store import Part
from answerback_storage.sqlite import asks, grants, receipts, record_lines
from answerback_storage.sqlite.database import SqliteDatabase

_MAX_LINES: Final = 1_000
"""Record lines held in memory at once."""
_DELETE_RELATED: Final = (
    "DELETE FROM idempotency WHERE ask_id = ?1",
    "DELETE FROM owed WHERE ask_id = ?1",
    # Keys of drafts consist of ids, after a word for the kind of draft.
    "DELETE FROM drafts WHERE instr(':' || key || ':', ':' || ?1 || ':') > 0",
    receipts.ERASE,
    grants.ERASE,
)
"""What is deleted along with an ask's content, by the ask's id."""
_DELETE_REMEMBERED: Final = """DELETE FROM remembered
    WHERE agent = ? AND conversation = ? AND turn = ? AND tool = ? AND question_id = ?"""
_ERASE_DELIVERIES: Final = """UPDATE deliveries
    SET body = ?, url = ?, state = ?, next_at = ?, last_error = ?, updated_at = ?, holder = NULL, claimed_until = NULL
    WHERE ask_id = ?"""


class SqliteErasure(Part[SqliteDatabase], Erasure):
    """Erasure in an SQLite file."""

    async def erase(self, ask_id: str, at: float, opaque: Collection[str]) -> Ask | None:
        """See `Erasure.erase`. SQLite overwrites what is deleted; `scrub` does the rest."""

        def run(db: sqlite3.Connection) -> Ask | None:
            old = asks.load(db, self._db.requests, ask_id)
            if old is None or old.open or old.erased_at is not None:
                return old
            new = erase_ask(old, at, opaque)
            _erase(db, old, new, opaque)
            (seq,) = db.execute("SELECT seq FROM asks WHERE id = ?", (ask_id,)).fetchone()
            self._db.requests.drop(seq)
            self._db.batch.forget()
            return new

        return await self._db.write(run)

    async def scrub(self) -> None:
        await asyncio.to_thread(self._db.connections.tidy)

    async def list_erasable(self, before: float, limit: int) -> Sequence[str]:
        found = await self._db.read(
            lambda db: db.execute(
                "SELECT id FROM asks WHERE status <> 'open' AND erased_at IS NULL AND updated_at < ?"
                " ORDER BY updated_at LIMIT ?",
                (before, limit),
            ).fetchall()
        )
        return [ask_id for (ask_id,) in found]


def _erase(db: sqlite3.Connection, old: Ask, new: Ask, opaque: Collection[str]) -> None:
    asks.update(db, old, new)
    db.execute(
        "UPDATE asks SET conversation = NULL, erased_at = ? WHERE id = ?", (new.erased_at, new.id)
    )
    db.execute(
        "UPDATE requests SET request = ? WHERE seq = (SELECT seq FROM asks WHERE id = ?)",
        (rows.dump_request(new.request), new.id),
    )
    db.execute(_ERASE_DELIVERIES, (*rows.erased_delivery_columns(new.updated_at), new.id))
    db.executemany(_DELETE_REMEMBERED, rows.memory_keys(old.request))
    db.execute("DELETE FROM drafts WHERE key = ?", (old.request.join,))
    for statement in _DELETE_RELATED:
        db.execute(statement, (new.id,))
    after = 0
    while found := record_lines.read(db, new.id, after, _MAX_LINES):
        erased = [(rows.dump_entry(erase_entry(line.entry, opaque)), line.seq) for line in found]
        db.executemany("UPDATE record SET entry = ? WHERE seq = ?", erased)
        after = found[-1].seq
    asks.add_lines(db, [(new.id, rows.erasure_entry(new.updated_at))])
