"""The webhooks to send, in a database."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypeVar

from answerback.ports.store import Outbox
from answerback.ports.store_values import DeliveryState, Page, StoredDelivery
from answerback_storage import cursors, rows
from answerback_storage.sql_database import Part, SqlDatabase, where

D = TypeVar("D", bound=SqlDatabase)


class SqlOutbox(Part[D], Outbox):
    _first_pending: ClassVar[str]
    """The end of a query, after its columns, for those that are to be sent before the others of their asks."""
    _release: ClassVar[str]
    """The statement that ends a holder's claims."""

    async def next_due(self, after: float = 0.0) -> float | None:
        statement = (
            f"SELECT next_at {self._first_pending} AND next_at > $1 ORDER BY next_at LIMIT 1"
        )
        found = await self._db.fetch(statement, after)
        return found[0][0] if found else None

    async def release(self, holder: str) -> None:
        await self._db.execute(self._release, holder)

    async def get(self, delivery_id: str) -> StoredDelivery | None:
        statement = f"SELECT {rows.DELIVERY_COLUMNS} FROM deliveries WHERE id = $1"
        found = await self._db.fetch(statement, delivery_id)
        return rows.delivery_from_row(found[0]) if found else None

    async def page(
        self, *, state: DeliveryState | None, agent: str | None, after: str | None, limit: int
    ) -> Page[StoredDelivery]:
        columns = {"state": state and state.value, "agent": agent}
        behind = cursors.parse_cursor("deliveries", after)
        terms, values = where(self._db, columns, ("seq < {}", behind))
        found = await self._find(f"WHERE {terms} ORDER BY seq DESC", values, limit + 1)
        return cursors.page("deliveries", found, limit)

    @abstractmethod
    async def _find(
        self, query: str, values: Sequence[object], limit: int
    ) -> Sequence[tuple[int, StoredDelivery]]:
        """Return the first deliveries that can be read, with their numbers; as `SqlDatabase.find` does."""
