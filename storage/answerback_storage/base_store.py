"""What is the same in every store: the parts of a store that differ only in how they run their statements."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import ClassVar, Final, Generic, TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask, Status
from answerback.ports.claims import Fence
from answerback.ports.message_state import record_shown
from answerback.ports.search import Account, AskSearch, Search
from answerback.ports.store import AskStore, Decision, Drafts, Maintenance, Outbox, Write
from answerback.ports.store_values import (
    DeliveryState,
    Page,
    StoredDelivery,
)
from answerback.ports.surface import Shown
from answerback_storage import rows

D = TypeVar("D")
T = TypeVar("T")

Filters = Mapping[str, str | None]
"""The values that columns must have; None: any."""
PRUNE_STEP: Final = 1_000
"""Rows deleted in one transaction, so that no click waits for all of them."""
_PRUNED_IF: Final = {
    # The key of an open ask is kept: a late retry must not ask people a second time.
    "idempotency": "AND NOT EXISTS (SELECT 1 FROM asks WHERE id = ask_id AND status = 'open')",
    # Outcomes that an agent has not seen are kept.
    "owed": "AND told > 0",
    "record": "AND ask_id IS NULL",
}
"""Further conditions for the old rows of a table."""
_TIME_OF: Final = {"agent_tokens": "until", "sign_ins": "until"}
"""The column that makes a row old, if it is not ``at``."""


class Part(Generic[D]):
    """A part of a store, which runs its statements on a database."""

    def __init__(self, db: D) -> None:
        self._db = db


class BaseAsks(Part[D], AskStore):
    """Asks.

    Args:
        timed: called with the seconds that a caller waited for a write.
    """

    def __init__(self, db: D, timed: Callable[[float], None]) -> None:
        super().__init__(db)
        self._timed = timed

    async def change(
        self,
        ask_id: str,
        decide: Callable[[Ask | None], Decision[T]],
        *,
        delivery: str | None = None,
        digest: str = "",
        then: Callable[[T], None] | None = None,
        fence: Fence | None = None,
    ) -> tuple[T, bool]:
        began = time.perf_counter()
        try:
            return await self._change(ask_id, decide, delivery, digest, then, fence)
        finally:
            self._timed(time.perf_counter() - began)

    @abstractmethod
    def _change(
        self,
        ask_id: str,
        decide: Callable[[Ask | None], Decision[T]],
        delivery: str | None = None,
        digest: str = "",
        then: Callable[[T], None] | None = None,
        fence: Fence | None = None,
    ) -> Awaitable[tuple[T, bool]]:
        """Load, decide and store; see `AskStore.change`."""

    async def page(
        self,
        *,
        status: Status | None = None,
        surface: str | None = None,
        conversation: str | None = None,
        agent: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[Ask]:
        filters = {
            "status": status and status.value,
            "surface": surface,
            "conversation": conversation,
            "agent": agent,
        }
        return await self._page(filters, rows.parse_descending_cursor("asks", after), limit)

    @abstractmethod
    def _page(self, filters: Filters, behind: int, limit: int) -> Awaitable[Page[Ask]]:
        """Return the asks after row ``behind`` whose columns have these values, newest first."""

    async def save_shown(self, ask_id: str, shown: Shown, of: Ask | None = None) -> Ask | None:
        def decide(latest: Ask | None) -> Decision[Ask | None]:
            if latest is None:
                return Decision(None, None)
            now = record_shown(
                latest,
                of or latest,
                revision=shown.revision,
                message=shown.message,
                thread=shown.thread,
                at=shown.at,
            )
            return Decision(Write(now), now)

        updated, _ = await self._change(ask_id, decide)
        return updated


class BaseSearch(Part[D], AskSearch):
    """Search and people's inboxes."""

    async def find(self, wanted: Search, after: str | None, limit: int) -> Page[Ask]:
        return await self._find(wanted, rows.parse_descending_cursor("search", after), limit)

    @abstractmethod
    def _find(self, wanted: Search, behind: int, limit: int) -> Awaitable[Page[Ask]]:
        """Return the matching asks after row ``behind``, newest first."""

    async def list_for_responder(
        self, accounts: Sequence[Account], after: str | None, limit: int
    ) -> Page[Ask]:
        behind = rows.parse_ascending_cursor("waiting", after)
        return await self._list_for_responder(accounts, behind, limit)

    @abstractmethod
    def _list_for_responder(
        self, accounts: Sequence[Account], behind: int, limit: int
    ) -> Awaitable[Page[Ask]]:
        """Return the asks after row ``behind`` that may wait for this person, oldest first."""


class BaseOutbox(Part[D], Outbox):
    """The webhooks to send."""

    async def page(
        self, *, state: DeliveryState | None, agent: str | None, after: str | None, limit: int
    ) -> Page[StoredDelivery]:
        filters = {"state": state and state.value, "agent": agent}
        return await self._page(filters, rows.parse_descending_cursor("deliveries", after), limit)

    @abstractmethod
    def _page(self, filters: Filters, behind: int, limit: int) -> Awaitable[Page[StoredDelivery]]:
        """Return the deliveries after row ``behind`` whose columns have these values, newest first."""


class BaseDrafts(Part[D], Drafts):
    """Drafts."""

    async def get(self, key: str) -> JsonValue:
        text = await self._read(key)
        draft = None if text is None else rows.read_value(text, "drafts")
        return None if draft is None else draft[0]

    @abstractmethod
    def _read(self, key: str) -> Awaitable[bytes | None]:
        """Return the JSON of a draft, or None."""


class BaseMaintenance(Part[D], Maintenance):
    """What is deleted in the same way by both databases."""

    _keys: ClassVar[Mapping[str, str]]
    """The key of each table that is pruned."""
    _value: ClassVar[str]
    """How a statement refers to its only value."""

    async def prune(self, before: float) -> int:
        tables = [table for table in self._keys if table != "record"]
        return sum([await self._prune_table(table, before) for table in tables])

    async def prune_audit(self, before: float) -> int:
        return await self._prune_table("record", before)

    async def _prune_table(self, table: str, before: float) -> int:
        key, time_of = self._keys[table], _TIME_OF.get(table, "at")
        statement = f"""DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table}
            WHERE {time_of} < {self._value} {_PRUNED_IF.get(table, "")} ORDER BY {time_of} LIMIT {PRUNE_STEP})"""
        deleted, step = 0, PRUNE_STEP
        while step == PRUNE_STEP:
            step = await self._delete(statement, before)
            deleted += step
        return deleted

    @abstractmethod
    def _delete(self, statement: str, value: float) -> Awaitable[int]:
        """Run the statement, and return how many rows it deleted."""
