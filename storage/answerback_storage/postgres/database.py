"""The PostgreSQL database as an asynchronous resource: its connections, its changes in progress, its notifications."""

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
    """A database that can be opened and closed.

    Args:
        url: the database, in libpq's format. It must exist; its tables need not.
        listen_url: the server itself, if ``url`` is a pooler that reassigns connections between transactions.
        timed: called with the seconds that a caller waited for a write.
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
        self._outbox = Outbox(self._database, self._reader.logged_rows)
        self._notifier = ChangeNotifier(self._database, listen_url or url)
        self._changes = ChangeQueue(self._database, self._requests, self._notifier.notify)
        self._running: set[asyncio.Future[Any]] = set()
        self._open = False

    async def open(self) -> None:
        """Connect and migrate. Reads nothing else, so the time does not depend on the number of asks."""
        try:
            await migrate(self._database)
            await self._notifier.open()
        except StoreError:
            await self._database.close()
            raise
        self._open = True

    async def close(self) -> None:
        """Finish the submitted work and close the connections."""
        self._open = False
        while self._running:
            await asyncio.wait(self._running)
        await self._changes.finish()
        await self._notifier.close()
        await self._database.close()

    async def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run ``work`` to completion, even if the caller stops waiting."""
        if not self._open:
            raise StoreError(_NOT_OPEN)
        task = asyncio.ensure_future(work())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _read(self, statement: str, *values: object) -> list[rows.Row]:
        return await self._run(lambda: self._database.read(statement, values))

    async def _write(self, statement: str, *values: object) -> list[rows.Row]:
        return await self._run(lambda: self._database.write(statement, values))

    def listen(self, callback: Callable[[str | None], None]) -> None:
        """Call ``callback`` with each ask that another process changes, or None if notifications may have been lost."""
        self._notifier.listen(callback)

    async def _change(self, job: ChangeJob[T]) -> tuple[T, bool]:
        if not self._open:
            raise StoreError(_NOT_OPEN)
        return await self._changes.submit(job)
