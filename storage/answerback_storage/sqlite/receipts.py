"""Receipts and their chain in SQLite; see `answerback.ports.receipts`."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from typing import Final

from answerback.ports.claims import Fence
from answerback.ports.receipts import (
    NewLink,
    NewReceipt,
    ReceiptStore,
    StoredReceipt,
    chain_broken_error,
    is_next_key,
)
from answerback_storage import rows
from answerback_storage.base_store import Part
from answerback_storage.sqlite import claim_statements as claims
from answerback_storage.sqlite.runner import Runner

TABLES: Final = (
    # The number of a receipt is that of its ask.
    """CREATE TABLE receipts (
        seq INTEGER PRIMARY KEY,
        receipt TEXT NOT NULL,
        beside TEXT,
        n INTEGER,
        link TEXT
    ) STRICT""",
    "CREATE UNIQUE INDEX receipts_in_chain ON receipts (n) WHERE n IS NOT NULL",
    "CREATE INDEX receipts_unlinked ON receipts (seq) WHERE n IS NULL",
    "CREATE TABLE receipt_keys (seq INTEGER PRIMARY KEY, x TEXT NOT NULL UNIQUE, at REAL NOT NULL) STRICT",
)
_SELECT: Final = "SELECT id, receipt, beside, n, link FROM receipts JOIN asks USING (seq)"
_INSERT: Final = (
    "INSERT INTO receipts (seq, receipt, beside) SELECT seq, ?, ? FROM asks WHERE id = ?"
)
_LINK: Final = """UPDATE receipts SET n = ?, link = ?
    WHERE n IS NULL AND seq = (SELECT seq FROM asks WHERE id = ?)"""
ERASE: Final = "UPDATE receipts SET beside = NULL WHERE seq = (SELECT seq FROM asks WHERE id = ?1)"


def insert(db: sqlite3.Connection, ask_id: str, new: NewReceipt) -> None:
    """Store a receipt."""
    db.execute(_INSERT, (*new, ask_id))


class SqliteReceipts(Part[Runner], ReceiptStore):
    """Receipts in an SQLite file."""

    async def get(self, ask_id: str) -> StoredReceipt | None:
        found = await self._select("WHERE id = ?", ask_id)
        return found[0] if found else None

    async def list_unlinked(self, limit: int) -> Sequence[StoredReceipt]:
        return await self._select("WHERE n IS NULL ORDER BY receipts.seq LIMIT ?", limit)

    async def last_link(self) -> StoredReceipt | None:
        found = await self._select("WHERE n IS NOT NULL ORDER BY n DESC LIMIT 1")
        return found[0] if found else None

    async def list_linked(self, after: int, limit: int) -> Sequence[StoredReceipt]:
        return await self._select("WHERE n > ? ORDER BY n LIMIT ?", after, limit)

    async def _select(self, where: str, *values: str | int) -> list[StoredReceipt]:
        statement = f"{_SELECT} {where}"
        found = await self._db.read(lambda db: db.execute(statement, values).fetchall())
        return [StoredReceipt(*row) for row in found]

    async def add_links(self, links: Sequence[NewLink], fence: Fence) -> None:
        def run(db: sqlite3.Connection) -> None:
            claims.check_fence(db, fence)
            (last,) = db.execute("SELECT ifnull(max(n), 0) FROM receipts").fetchone()
            if [link.n for link in links] != [*range(last + 1, last + 1 + len(links))]:
                raise chain_broken_error()
            new: list[rows.Row] = [(link.n, link.link, link.ask_id) for link in links]
            if db.executemany(_LINK, new).rowcount != len(links):
                raise chain_broken_error()

        await self._db.write(run)

    async def public_keys(self) -> Sequence[str]:
        statement = "SELECT x FROM receipt_keys ORDER BY seq"
        return [x for (x,) in await self._db.read(lambda db: db.execute(statement).fetchall())]

    async def use_key(self, new: str, former: Collection[str], at: float) -> bool:
        def run(db: sqlite3.Connection) -> bool:
            used: list[str] = [x for (x,) in db.execute("SELECT x FROM receipt_keys ORDER BY seq")]
            if not is_next_key(used, new, former):
                return new == used[-1]
            db.execute("INSERT INTO receipt_keys (x, at) VALUES (?, ?)", (new, at))
            return True

        return await self._db.write(run)
