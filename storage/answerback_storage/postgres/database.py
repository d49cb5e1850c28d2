"""The PostgreSQL database as an asynchronous resource: its connections, and the work in progress."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from answerback.core.errors import StoreError
from answerback_storage import rows
from answerback_storage.postgres.connections import Database

T = TypeVar("T")

_NOT_OPEN: Final = "The store is not open."


class PostgresDatabase:
    """What the parts of the store run their statements on.

    Args:
        url: the database, in libpq's format.
        pooled: whether a pooler is in between.
    """

    def __init__(self, url: str, *, pooled: bool) -> None:
        self.connections = Database(url, pooled=pooled)
        self.requests = rows.RequestCache()
        self.logged_rows: set[tuple[str, str]] = set()
        """The rows that were already logged as unreadable, by table and id."""
        self.is_open = False
        self._running: set[asyncio.Future[Any]] = set()

    async def finish(self) -> None:
        """Accept no more work, and return once the submitted work is done."""
        self.is_open = False
        while self._running:
            await asyncio.wait(self._running)

    def check_open(self) -> None:
        """Raise StoreError unless the store is open."""
        if not self.is_open:
            raise StoreError(_NOT_OPEN)

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run ``work`` to completion, even if the caller stops waiting."""
        self.check_open()
        task = asyncio.ensure_future(work())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def read(self, statement: str, *values: object) -> list[rows.Row]:
        """Run a statement that changes nothing, and return its rows."""
        return await self.run(lambda: self.connections.read(statement, values))

    async def write(self, statement: str, *values: object) -> list[rows.Row]:
        """Run one statement as one durable transaction, and return its rows."""
        return await self.run(lambda: self.connections.write(statement, values))
