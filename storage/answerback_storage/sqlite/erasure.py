"""Erase what was written in ended asks, in SQLite; see `answerback.ports.store.Store.erase`."""

from __future__ import annotations

import sqlite3
from asyncio import Future
from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol, TypeVar

from answerback.core.ask import Ask
from answerback.core.erasure import erase_ask, erase_entry
from answerback_storage import rows
from answerback_storage.sqlite import asks, record_lines
from answerback_storage.sqlite.change_batches import Batch

T = TypeVar("T")

_MAX_LINES: Final = 1_000
"""Record lines held in memory at once."""
_DELETE_RELATED: Final = (
    "DELETE FROM idempotency WHERE ask_id = ?1",
    "DELETE FROM owed WHERE ask_id = ?1",
    # Keys of drafts consist of ids, after a word for the kind of draft.
    "DELETE FROM drafts WHERE instr(':' || key || ':', ':' || ?1 || ':') > 0",
)
"""What is deleted along with an ask's content, by the ask's id."""
_DELETE_REMEMBERED: Final = """DELETE FROM remembered
    WHERE agent = ? AND conversation = ? AND turn = ? AND tool = ? AND question_id = ?"""
_ERASE_DELIVERIES: Final = """UPDATE deliveries
    SET body = ?, url = ?, state = ?, next_at = ?, last_error = ?, updated_at = ?, holder = NULL, claimed_until = NULL
    WHERE ask_id = ?"""


class _Workers(Protocol):
    """The store that this class is a part of, which runs statements."""

    _requests: rows.RequestCache
    _batch: Batch

    def _read(self, run: Callable[[sqlite3.Connection], T]) -> Future[T]: ...
    def _write(self, run: Callable[[sqlite3.Connection], T]) -> Future[T]: ...


class SqliteErasure:
    """Erasure in the SQLite store."""

    async def erase(self: _Workers, ask_id: str, at: float, opaque: Collection[str]) -> Ask | None:
        """See `Store.erase`. SQLite overwrites what is deleted; `scrub_erased` does the rest."""

        def run(db: sqlite3.Connection) -> Ask | None:
            old = asks.load(db, self._requests, ask_id)
            if old is None or old.open or old.erased_at is not None:
                return old
            new = erase_ask(old, at, opaque)
            _erase(db, old, new, opaque)
            (seq,) = db.execute("SELECT seq FROM asks WHERE id = ?", (ask_id,)).fetchone()
            self._requests.drop(seq)
            self._batch.forget()
            return new

        return await self._write(run)

    async def list_erasable(self: _Workers, before: float, limit: int) -> Sequence[str]:
        """See `Store.list_erasable`."""
        found = await self._read(
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
    record_lines.add(db, [(new.id, rows.erasure_entry(new.updated_at))])
