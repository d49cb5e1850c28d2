"""Asks, in a database."""

from __future__ import annotations

from typing import TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.ports.store_values import Page
from answerback_storage import cursors, rows
from answerback_storage.base_store import BaseAsks, Filters
from answerback_storage.sql_database import SqlDatabase, where

D = TypeVar("D", bound=SqlDatabase)


class SqlAsks(BaseAsks[D]):
    """Asks in a database."""

    async def _page(self, filters: Filters, behind: int, limit: int) -> Page[Ask]:
        terms, values = where(self._db, filters, ("seq < {}", behind))
        query = f"WHERE {terms} ORDER BY seq DESC"
        return cursors.page("asks", await self._db.find(query, values, limit + 1), limit)

    async def get_remembered(
        self, agent: str, conversation: str, turn: str, tool: str, question: str
    ) -> tuple[JsonValue] | None:
        condition, key = self._db.key("remembered", agent, conversation, turn, tool, question)
        value = self._db.as_bytes.format("value")
        found = await self._db.fetch(f"SELECT {value} FROM remembered WHERE {condition}", *key)
        return rows.read_value(found[0][0], "remembered") if found else None
