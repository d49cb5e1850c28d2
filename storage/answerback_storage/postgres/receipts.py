"""Receipts and their chain in PostgreSQL; see `answerback.ports.receipts`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from answerback.core.errors import LeaseLostError
from answerback.ports.claims import Fence
from answerback.ports.receipts import (
    NewLink,
    ReceiptStore,
    StoredReceipt,
    chain_broken_error,
    is_next_key,
)
from answerback_storage.base_store import Part
from answerback_storage.postgres.database import PostgresDatabase
from answerback_storage.postgres.sql import Parameters
from answerback_storage.rows import Row

TABLES: Final = (
    # The number of a receipt is that of its ask.
    """CREATE TABLE receipts (
        seq bigint PRIMARY KEY,
        receipt text NOT NULL,
        beside text,
        n bigint,
        link text
    ) WITH (fillfactor = 50)""",
    "CREATE UNIQUE INDEX receipts_in_chain ON receipts (n) WHERE n IS NOT NULL",
    "CREATE INDEX receipts_unlinked ON receipts (seq) WHERE n IS NULL",
    """CREATE TABLE receipt_keys (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        x text NOT NULL UNIQUE,
        at double precision NOT NULL
    )""",
)
_SELECT: Final = "SELECT id, receipt, beside, n, link FROM receipts JOIN asks USING (seq)"
ERASE: Final = "UPDATE receipts SET beside = NULL WHERE seq = (SELECT seq FROM asks WHERE id = $1)"


def insert(params: Parameters, new: Sequence[Row]) -> str:
    """Build the part of a statement that stores receipts of the asks in ``stored``: their ids, and `NewReceipt`."""
    values = params.rows(new, ("text", "text", "text"))
    return f"""INSERT INTO receipts (seq, receipt, beside) SELECT stored.seq, c1, c2
        FROM ({values}) AS new (c0, c1, c2, n) JOIN stored ON stored.id = c0"""


class PostgresReceipts(Part[PostgresDatabase], ReceiptStore):
    """Receipts in a PostgreSQL database."""

    async def get(self, ask_id: str) -> StoredReceipt | None:
        found = await self._select("WHERE id = $1", ask_id)
        return found[0] if found else None

    async def list_unlinked(self, limit: int) -> Sequence[StoredReceipt]:
        return await self._select("WHERE n IS NULL ORDER BY receipts.seq LIMIT $1", limit)

    async def last_link(self) -> StoredReceipt | None:
        found = await self._select("WHERE n IS NOT NULL ORDER BY n DESC LIMIT 1")
        return found[0] if found else None

    async def list_linked(self, after: int, limit: int) -> Sequence[StoredReceipt]:
        return await self._select("WHERE n > $1 ORDER BY n LIMIT $2", after, limit)

    async def _select(self, where: str, *values: str | int) -> list[StoredReceipt]:
        return [StoredReceipt(*row) for row in await self._db.read(f"{_SELECT} {where}", *values)]

    async def add_links(self, links: Sequence[NewLink], fence: Fence) -> None:
        """See `ReceiptStore.add_links`. Whoever else added a link took the number of the first one."""
        params = Parameters()
        values = params.rows(links, ("text", "bigint", "text"))
        held = f"""SELECT 1 FROM leases WHERE name = {params.add(fence.lease)}
            AND epoch = {params.add(fence.epoch, "bigint")} AND until > clock_timestamp() FOR SHARE"""
        first = params.add(links[0].n, "bigint")
        statement = f"""WITH held AS ({held}), added AS (
                UPDATE receipts SET n = new.c1, link = new.c2 FROM ({values}) AS new (c0, c1, c2, o)
                JOIN asks ON asks.id = c0 WHERE receipts.seq = asks.seq AND receipts.n IS NULL
                    AND EXISTS (SELECT 1 FROM held)
                    AND {first} = (SELECT coalesce(max(n), 0) + 1 FROM receipts)
                RETURNING 1
            ) SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM added)"""

        async def run() -> None:
            async with self._db.connections.transaction() as connection:
                cursor = await connection.execute(statement.encode(), params.values)
                held, added = await cursor.fetchone() or (0, 0)
                if held and added == len(links):
                    return
                raise chain_broken_error() if held else LeaseLostError(fence.lease)

        await self._db.run(run)

    async def public_keys(self) -> Sequence[str]:
        return [x for (x,) in await self._db.read("SELECT x FROM receipt_keys ORDER BY seq")]

    async def use_key(self, new: str, former: Collection[str], at: float) -> bool:
        async def run() -> bool:
            async with self._db.connections.transaction() as connection:
                await connection.execute(b"LOCK TABLE receipt_keys IN EXCLUSIVE MODE")
                found = await connection.execute(b"SELECT x FROM receipt_keys ORDER BY seq")
                used: list[str] = [x for (x,) in await found.fetchall()]
                if not is_next_key(used, new, former):
                    return new == used[-1]
                insert_key = b"INSERT INTO receipt_keys (x, at) VALUES ($1, $2)"
                await connection.execute(insert_key, (new, at))
                return True

        return await self._db.run(run)
