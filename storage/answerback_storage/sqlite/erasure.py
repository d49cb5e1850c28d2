"""Erasing what was written in ended asks, in SQLite; see `answerback.ports.store.Store.erase`."""

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

_STEP: Final = 1_000
"""Lines of a record that are in memory at the same time."""
_OF_ASK: Final = (
    "DELETE FROM idempotency WHERE ask_id = ?1",
    "DELETE FROM owed WHERE ask_id = ?1",
    # Keys of drafts are made of ids, after a word for what they are.
    "DELETE FROM drafts WHERE instr(':' || key || ':', ':' || ?1 || ':') > 0",
)
"""What is forgotten of an ask, by its id."""
_REMEMBERED: Final = """DELETE FROM remembered
    WHERE agent = ? AND conversation = ? AND turn = ? AND tool = ? AND question_id = ?"""
_DELIVERIES: Final = """UPDATE deliveries SET body = ?, url = ?, state = ?, next_at = ?, last_error = ?, updated_at = ?,
    holder = NULL, claimed_until = NULL WHERE ask_id = ?"""


class _Workers(Protocol):
    """What runs statements: the store that this is a part of."""

    _requests: rows.RequestCache
    _batch: Batch

    def _read(self, run: Callable[[sqlite3.Connection], T]) -> Future[T]: ...
    def _write(self, run: Callable[[sqlite3.Connection], T]) -> Future[T]: ...


class SqliteErasure:
    """The part of the store that erases."""

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
    db.execute(_DELIVERIES, (*rows.erased_delivery_columns(new.updated_at), new.id))
    db.executemany(_REMEMBERED, rows.memory_keys(old.request))
    for statement in _OF_ASK:
        db.execute(statement, (new.id,))
    after = 0
    while found := record_lines.read(db, new.id, after, _STEP):
        kept = [(rows.dump_entry(erase_entry(line.entry, opaque)), line.seq) for line in found]
        db.executemany("UPDATE record SET entry = ? WHERE seq = ?", kept)
        after = found[-1].seq
    record_lines.add(db, [(new.id, rows.erasure_entry(new.updated_at))])
