"""Asks, in a database."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask, Status
from answerback.ports.claims import Fence
from answerback.ports.message_state import record_shown
from answerback.ports.store import AskStore, Decision
from answerback.ports.store_values import Page
from answerback.ports.surface import Shown
from answerback_storage import cursors, rows
from answerback_storage.late_answers import owed_row
from answerback_storage.sql_database import OPEN_BY_URGENCY, Part, SqlDatabase, where

D = TypeVar("D", bound=SqlDatabase)
T = TypeVar("T")


class SqlAsks(Part[D], AskStore):
    """Asks in a database.

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
        within: float = 0.0,
    ) -> tuple[T, bool]:
        began = time.perf_counter()
        try:
            return await self._change(ask_id, decide, delivery, digest, then, fence, within)
        finally:
            self._timed(time.perf_counter() - began)

    async def changed_columns(self, ask: Ask) -> Sequence[str]:
        agent, conversation = ask.request.agent, ask.request.conversation
        place = rows.current_place(ask.placement)
        found_by = (ask.status.value, *place, conversation, agent)
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

    @abstractmethod
    def _change(
        self,
        ask_id: str,
        decide: Callable[[Ask | None], Decision[T]],
        delivery: str | None = None,
        digest: str = "",
        then: Callable[[T], None] | None = None,
        fence: Fence | None = None,
        within: float = 0.0,
    ) -> Awaitable[tuple[T, bool]]: ...

    async def page(
        self,
        *,
        status: Status | None = None,
        surface: str | None = None,
        conversation: str | None = None,
        agent: str | None = None,
        after: str | None = None,
        limit: int = 50,
        by_urgency: bool = False,
    ) -> Page[Ask]:
        columns = {
            "status": None if by_urgency else status and status.value,
            "surface": surface,
            "conversation": conversation,
            "agent": agent,
        }
        if by_urgency:
            terms, values = where(self._db, columns, first=3)
            query = f"WHERE {' AND '.join(filter(None, (OPEN_BY_URGENCY, terms)))} ORDER BY urgency, seq"
            position = cursors.parse_urgency_cursor(after)
            found = await self._db.find(query, (*position, *values), limit + 1)
            return cursors.page_by_urgency(found, limit)
        behind = cursors.parse_cursor("asks", after)
        terms, values = where(self._db, columns, ("seq < {}", behind))
        query = f"WHERE {terms} ORDER BY seq DESC"
        return cursors.page("asks", await self._db.find(query, values, limit + 1), limit)

    async def save_shown(self, ask_id: str, shown: Shown, of: Ask | None = None) -> Ask | None:
        updated, _ = await self._change(ask_id, partial(record_shown, shown, of))
        return updated

    async def get_remembered(
        self, agent: str, conversation: str, turn: str, tool: str, question: str
    ) -> tuple[JsonValue] | None:
        condition, key = self._db.key("remembered", agent, conversation, turn, tool, question)
        value = self._db.as_bytes.format("value")
        found = await self._db.fetch(f"SELECT {value} FROM remembered WHERE {condition}", *key)
        return rows.read_value(found[0][0], "remembered") if found else None
