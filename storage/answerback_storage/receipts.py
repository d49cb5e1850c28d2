"""Receipts and their chain, in a database; see `answerback.ports.receipts`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Final

from answerback.core.ask import Ask
from answerback.ports.claims import Fence
from answerback.ports.receipts import (
    NewLink,
    ReceiptStore,
    StoredReceipt,
    chain_broken_error,
    is_next_key,
)
from answerback_storage.late_answers import owed_row
from answerback_storage.rows import current_place
from answerback_storage.sql_database import Part, SqlDatabase, Transaction, value_rows

_KEYS: Final = "SELECT x FROM receipt_keys ORDER BY seq"
_LAST: Final = "SELECT coalesce(max(n), 0) FROM receipts WHERE n IS NOT NULL"
"""The condition is that of the index: without it, SQLite reads all receipts."""
_LINK: Final = """UPDATE receipts SET n = new.column2, link = new.column3
    FROM (VALUES {}) AS new JOIN asks ON asks.id = new.column1
    WHERE receipts.n IS NULL AND receipts.seq = asks.seq RETURNING 1"""


class SqlReceipts(Part[SqlDatabase], ReceiptStore):
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
        columns = "id, receipt, beside, n, link"
        statement = f"SELECT {columns} FROM receipts JOIN asks USING (seq) {where}"
        return [StoredReceipt(*row) for row in await self._db.fetch(statement, *values)]

    async def changed_columns(self, ask: Ask) -> Sequence[str]:
        agent, conversation = ask.request.agent, ask.request.conversation
        found_by = (ask.status.value, *current_place(ask.placement), conversation, agent)
        expected = {
            ("asks", "id", "status, surface, channel, thread_id, conversation, agent"): found_by,
            ("owed", "ask_id", "agent, conversation"): owed_row(ask)[1:3],
            ("deliveries", "ask_id", "agent"): (agent,),
        }
        changed: list[str] = []
        for (table, key, columns), values in expected.items():
            only = " AND type LIKE 'ask.%'" * (table == "deliveries")
            statement = f"SELECT DISTINCT {columns} FROM {table} WHERE {key} = $1{only}"
            for row in await self._db.fetch(statement, ask.id):
                pairs = zip(columns.split(", "), row, values, strict=True)
                changed += [f"{table}.{name}" for name, found, value in pairs if found != value]
        return changed

    async def add_links(self, links: Sequence[NewLink], fence: Fence, within: float = 0.0) -> None:
        async def run(tx: Transaction) -> None:
            await tx.check_fence(fence)
            [(last,)] = await tx.execute(_LAST)
            if [link.n for link in links] != [*range(last + 1, last + 1 + len(links))]:
                raise chain_broken_error()
            linked = await tx.execute(_LINK.format(value_rows(links)), *chain.from_iterable(links))
            if len(linked) != len(links):
                raise chain_broken_error()

        await self._db.transact(run, within=within)

    async def public_keys(self) -> Sequence[str]:
        return [x for (x,) in await self._db.fetch(_KEYS)]

    async def use_key(self, new: str, former: Collection[str], at: float) -> bool:
        async def run(tx: Transaction) -> bool:
            used: list[str] = [x for (x,) in await tx.execute(_KEYS)]
            if not is_next_key(used, new, former):
                return new == used[-1]
            await tx.execute("INSERT INTO receipt_keys (x, at) VALUES ($1, $2)", new, at)
            return True

        return await self._db.transact(run, lock="receipt_keys")
