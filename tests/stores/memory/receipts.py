"""Receipts and their chain in memory; see `answerback.ports.receipts`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from answerback.core.ask import Ask
from answerback.ports.claims import Fence
from answerback.ports.receipts import (
    NewLink,
    ReceiptStore,
    StoredReceipt,
    chain_broken_error,
    is_next_key,
)
from answerback_storage.sql_database import Part
from tests.stores.memory.database import MemoryDatabase


class MemoryReceipts(Part[MemoryDatabase], ReceiptStore):
    """Receipts in memory."""

    async def get(self, ask_id: str) -> StoredReceipt | None:
        return self._db.tables().receipts.get(ask_id)

    async def list_unlinked(self, limit: int) -> Sequence[StoredReceipt]:
        tables = self._db.tables()
        unlinked = [each for each in tables.receipts.values() if each.n is None]
        return sorted(unlinked, key=lambda each: tables.numbers[each.ask_id])[:limit]

    async def last_link(self) -> StoredReceipt | None:
        chain = self._chain()
        return chain[-1] if chain else None

    async def list_linked(self, after: int, limit: int) -> Sequence[StoredReceipt]:
        return [each for each in self._chain() if (each.n or 0) > after][:limit]

    async def changed_columns(self, ask: Ask) -> Sequence[str]:
        return []  # an ask is all that there is

    def _chain(self) -> list[StoredReceipt]:
        linked = [each for each in self._db.tables().receipts.values() if each.n is not None]
        return sorted(linked, key=lambda each: each.n or 0)

    async def add_links(self, links: Sequence[NewLink], fence: Fence) -> None:
        tables = self._db.tables()
        self._db.check_fence(fence)
        end = len(self._chain())
        receipts = [tables.receipts.get(link.ask_id) for link in links]
        in_order = [link.n for link in links] == [*range(end + 1, end + 1 + len(links))]
        if not in_order or any(each is None or each.n is not None for each in receipts):
            raise chain_broken_error()
        for ask_id, n, link in links:
            tables.receipts[ask_id] = tables.receipts[ask_id]._replace(n=n, link=link)

    async def public_keys(self) -> Sequence[str]:
        return [*self._db.tables().receipt_keys]

    async def use_key(self, new: str, former: Collection[str], at: float) -> bool:
        used = self._db.tables().receipt_keys
        if is_next_key(used, new, former):
            used.append(new)
        return used[-1] == new
