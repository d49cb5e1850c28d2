"""The PostgreSQL database as an asynchronous resource: its connections, its changes under way, its news."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from answerback.core.errors import StoreError
from answerback_storage import rows
from answerback_storage.postgres import asks
from answerback_storage.postgres.change_batches import ChangeJob, ChangeQueue
from answerback_storage.postgres.connections import Database
from answerback_storage.postgres.listen_notify import ChangeNotifier
from answerback_storage.postgres.migrations import migrate
from answerback_storage.postgres.outbox import Outbox

T = TypeVar("T")

_NOT_OPEN: Final = "The store is not open."


class PostgresDatabase:
    """A database that is opened and closed.

    Args:
        url: the database, as libpq takes it; it is there already, its tables need not be.
        listen_url: the server itself, where ``url`` is a pooler that hands connections on between transactions.
        timed: is told how many seconds a write took which somebody waited for.
    """

    def __init__(
        self,
        url: str,
        *,
        listen_url: str | None = None,
        timed: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        self._timed = timed
        self._requests = rows.RequestCache()
        self._database = Database(url, pooled=listen_url is not None)
        self._reader = asks.Reader(self._database, self._requests)
        self._outbox = Outbox(self._database, self._reader.told)
        self._news = ChangeNotifier(self._database, listen_url or url)
        self._changes = ChangeQueue(self._database, self._requests, self._news.notify)
        self._doing: set[asyncio.Future[Any]] = set()
        self._open = False

    async def open(self) -> None:
        """Connects, and migrates. Reads nothing else: the number of asks makes no difference."""
        try:
            await migrate(self._database)
            await self._news.open()
        except StoreError:
            await self._database.close()
            raise
        self._open = True

    async def close(self) -> None:
        """Finishes what was handed in and closes the connections."""
        self._open = False
        while self._doing:
            await asyncio.wait(self._doing)
        await self._changes.finish()
        await self._news.close()
        await self._database.close()

    async def _do(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Does it to its end, even if the caller leaves."""
        if not self._open:
            raise StoreError(_NOT_OPEN)
        doing = asyncio.ensure_future(work())
        self._doing.add(doing)
        doing.add_done_callback(self._doing.discard)
        return await asyncio.shield(doing)

    async def _read(self, statement: str, *values: object) -> list[rows.Row]:
        return await self._do(lambda: self._database.read(statement, values))

    async def _write(self, statement: str, *values: object) -> list[rows.Row]:
        return await self._do(lambda: self._database.write(statement, values))

    def listen(self, heard: Callable[[str | None], None]) -> None:
        """Has ``heard`` told of each ask that another process changes; of None, where news may have been lost."""
        self._news.listen(heard)

    async def _change(self, job: ChangeJob[T]) -> tuple[T, bool]:
        if not self._open:
            raise StoreError(_NOT_OPEN)
        return await self._changes.submit(job)
