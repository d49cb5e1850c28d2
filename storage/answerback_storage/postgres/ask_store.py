"""Asks in PostgreSQL, created and changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from answerback.core.ask import Ask
from answerback.ports.claims import Fence
from answerback.ports.store import Decision, Write
from answerback.ports.store_values import (
    AskLimits,
    Created,
    CreateResult,
    Existing,
    GrantGone,
    Idempotency,
    LimitReached,
)
from answerback_storage.asks import SqlAsks
from answerback_storage.postgres import ask_writes, asks
from answerback_storage.postgres.change_batches import ChangeJob, ChangeQueue
from answerback_storage.postgres.database import PostgresDatabase
from answerback_storage.postgres.listen_notify import ChangeNotifier

T = TypeVar("T")


class PostgresAsks(SqlAsks[PostgresDatabase]):
    def __init__(
        self, db: PostgresDatabase, timed: Callable[[float], None], notifier: ChangeNotifier
    ) -> None:
        super().__init__(db, timed)
        self._notifier = notifier
        self.changes = ChangeQueue(db.connections, db.requests, notifier.notify)

    def _create(
        self, write: Write, idempotency: Idempotency | None, limits: AskLimits
    ) -> Awaitable[CreateResult]:
        async def run() -> CreateResult:
            statement, params = ask_writes.build_insert(write, idempotency, limits)
            while True:
                [(stored, limit, wait)] = await self._db.connections.write(statement, params.values)
                if stored is not None:
                    self._notifier.notify([write.ask.id])
                    return Created(write.ask)
                # The first one is found, unless its key is being pruned at this very moment.
                if idempotency and (existing := await self._existing(idempotency)):
                    return existing
                if limit is not None:
                    return LimitReached(limit, wait)
                if write.grant is not None:
                    return GrantGone()

        return self._db.run(run)

    async def find_created(self, idempotency: Idempotency) -> Existing | None:
        return await self._db.run(lambda: self._existing(idempotency))

    async def _existing(self, idempotency: Idempotency) -> Existing | None:
        condition, key = self._db.key("idempotency", idempotency.agent, idempotency.key)
        statement = f"SELECT ask_id, digest FROM idempotency WHERE {condition}"
        found = await self._db.connections.read(statement, key)
        if not found:
            return None
        ask_id, digest = found[0]
        ask = await asks.load(self._db.connections, self._db.requests, ask_id)
        return None if ask is None else Existing(ask, digest == idempotency.digest)

    def _change(
        self,
        ask_id: str,
        decide: Callable[[Ask | None], Decision[T]],
        delivery: str | None = None,
        digest: str = "",
        then: Callable[[T], None] | None = None,
        fence: Fence | None = None,
    ) -> Awaitable[tuple[T, bool]]:
        """If another process changed the ask in the meantime, start again."""
        self._db.check_open()
        return self.changes.submit(ChangeJob(ask_id, decide, delivery, digest, then, fence))

    async def get(self, ask_id: str) -> Ask | None:
        connections, cache = self._db.connections, self._db.requests
        return await self._db.run(lambda: asks.load(connections, cache, ask_id))
