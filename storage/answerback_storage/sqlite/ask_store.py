"""Asks in SQLite, created and changed."""

from __future__ import annotations

import sqlite3
from asyncio import Future
from collections.abc import Callable
from typing import Final, TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.ports.claims import Fence
from answerback.ports.store import Decision, Write
from answerback.ports.store_values import (
    AskLimits,
    Created,
    Existing,
    Idempotency,
    LimitReached,
    Page,
)
from answerback_storage import rows
from answerback_storage.base_store import BaseAsks, Filters
from answerback_storage.sqlite import ask_limits, asks
from answerback_storage.sqlite.change_batches import ChangeJob, insert_related
from answerback_storage.sqlite.database import SqliteDatabase

T = TypeVar("T")

_REMEMBERED: Final = """SELECT CAST(value AS BLOB) FROM remembered
    WHERE agent = ? AND conversation = ? AND turn = ? AND tool = ? AND question_id = ?"""


class SqliteAsks(BaseAsks[SqliteDatabase]):
    """Asks in an SQLite file."""

    def _create(
        self, write: Write, idempotency: Idempotency | None, limits: AskLimits
    ) -> Future[Created | Existing | LimitReached]:
        def run(db: sqlite3.Connection) -> Created | Existing | LimitReached:
            # The ask may have been stored in this very transaction, so it must not be cached.
            if idempotency is not None and (
                existing := asks.find_created(db, rows.RequestCache(), idempotency)
            ):
                return existing
            if (reached := ask_limits.find_reached(db, write.ask, limits)) is not None:
                return reached
            if idempotency is not None:
                asks.insert_idempotency_key(db, idempotency, write.ask)
            asks.insert(db, write.ask, write.claim)
            insert_related(db, write)
            return Created(write.ask)

        return self._db.write(run)

    async def find_created(self, idempotency: Idempotency) -> Existing | None:
        return await self._db.read(lambda db: asks.find_created(db, self._db.requests, idempotency))

    def _change(
        self,
        ask_id: str,
        decide: Callable[[Ask | None], Decision[T]],
        delivery: str | None = None,
        digest: str = "",
        then: Callable[[T], None] | None = None,
        fence: Fence | None = None,
    ) -> Future[tuple[T, bool]]:
        def notify(outcome: tuple[T, bool]) -> None:
            result, repeated = outcome
            if then is not None and not repeated:
                then(result)

        job = ChangeJob(self._db.batch, ask_id, decide, delivery, digest, fence)
        return self._db.write(job, notify)

    async def get(self, ask_id: str) -> Ask | None:
        return await self._db.read(lambda db: asks.load(db, self._db.requests, ask_id))

    async def _page(self, filters: Filters, behind: int, limit: int) -> Page[Ask]:
        def run(db: sqlite3.Connection) -> Page[Ask]:
            seqs, cursor = asks.newest_first(db, "asks", filters, (behind, limit))
            return Page(tuple(asks.load_many(db, self._db.requests, seqs)), cursor)

        return await self._db.read(run)

    async def get_remembered(
        self, agent: str, conversation: str, turn: str, tool: str, question: str
    ) -> tuple[JsonValue] | None:
        key = (agent, conversation, turn, tool, question)
        found = await self._db.read(lambda db: db.execute(_REMEMBERED, key).fetchone())
        return None if found is None else rows.read_value(found[0], "remembered")
