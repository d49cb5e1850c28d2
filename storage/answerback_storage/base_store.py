"""What is the same in every store: the parts of a store that differ only in how they run their statements."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask, Status
from answerback.ports.claims import Fence
from answerback.ports.message_state import record_shown
from answerback.ports.search import Account, AskSearch, Search
from answerback.ports.store import AskStore, Decision, Drafts, Outbox, Write
from answerback.ports.store_values import (
    DeliveryState,
    Page,
    StoredDelivery,
)
from answerback.ports.surface import Shown
from answerback_storage import cursors, rows

D = TypeVar("D")
T = TypeVar("T")

Filters = Mapping[str, str | None]
"""The values that columns must have; None: any."""


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
        return await self._page(filters, cursors.parse_cursor("asks", after), limit)

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
        return await self._find(wanted, cursors.parse_cursor("search", after), limit)

    @abstractmethod
    def _find(self, wanted: Search, behind: int, limit: int) -> Awaitable[Page[Ask]]:
        """Return the matching asks after row ``behind``, newest first."""

    async def list_for_responder(
        self, accounts: Sequence[Account], after: str | None, limit: int
    ) -> Page[Ask]:
        behind = cursors.parse_cursor("waiting", after, 0)
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
        return await self._page(filters, cursors.parse_cursor("deliveries", after), limit)

    @abstractmethod
    def _page(self, filters: Filters, behind: int, limit: int) -> Awaitable[Page[StoredDelivery]]:
        """Return the deliveries after row ``behind`` whose columns have these values, newest first."""


class BaseDrafts(Part[D], Drafts):
    async def get(self, key: str) -> JsonValue:
        return _draft_of(await self._read(key))

    async def change(
        self, key: str, change: Callable[[JsonValue], JsonValue], at: float
    ) -> JsonValue:
        while True:
            stored = await self._read(key)
            changed = change(_draft_of(stored))
            if await self._replace(key, stored, changed, at):
                return changed

    @abstractmethod
    def _read(self, key: str) -> Awaitable[bytes | None]:
        """Return the JSON of a draft, or None."""

    @abstractmethod
    def _replace(
        self, key: str, stored: bytes | None, value: JsonValue, at: float
    ) -> Awaitable[bool]:
        """Store or (with None) drop a draft if its JSON is still ``stored``; return whether it was."""


def _draft_of(stored: bytes | None) -> JsonValue:
    draft = None if stored is None else rows.read_value(stored, "drafts")
    return None if draft is None else draft[0]
