"""Notifications between processes about changed asks: sent after the commit, and received on a separate connection.

A ``NOTIFY`` inside a transaction takes a server-wide lock at commit, which would make all clicks wait for each other.
Sent afterwards, many at a time, they cost the clicks nothing, and other processes little.
Waiters catch lost notifications by reading the revisions of the asks that they wait for: after each new connection,
which is announced here, and every few seconds.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import psycopg

from answerback.core.errors import StoreError
from answerback_postgres.connections import Connection, Database, connect
from answerback_postgres.sql import Parameters

logger = logging.getLogger(__name__)

CHANNEL: Final = "answerback"
_COLLECT_SECONDS: Final = 0.003
"""Seconds for which changes are collected before a notification is sent."""
_MAX_ASKS: Final = 500
"""The most asks in one statement."""
_MAX_NAMES: Final = 50
"""The most asks in one notification, which may have 7,999 bytes:
https://www.postgresql.org/docs/current/sql-notify.html"""
_RETRY_SECONDS: Final = 1.0
"""Seconds before another attempt to reopen a lost connection."""
NOTIFICATION_TIMEOUT: Final = 3.0
"""Seconds that a first notification may take from one connection to the other."""


class ChangeNotifier:
    """Notifies other processes of changes, and receives their notifications.

    Args:
        database: sends notifications.
        listen_url: the address for receiving them: the server itself, never a pooler.
    """

    def __init__(self, database: Database, listen_url: str) -> None:
        self._database = database
        self._url = listen_url
        self._own_id = secrets.token_hex(4)
        self._pending: dict[str, None] = {}
        self._sending: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._connection: Connection | None = None
        self._callbacks: list[Callable[[str | None], None]] = []

    async def open(self) -> None:
        """Start listening.

        Raises:
            StoreError: no connection is available, or none that receives notifications. The message says which.
        """
        self._connection = await self._connect()
        self._listening = asyncio.create_task(self._listen(self._connection))

    async def close(self) -> None:
        """Send the remaining notifications and stop listening."""
        if self._sending is not None:
            await self._sending
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait([self._listening])
        if self._connection is not None:
            await self._connection.close()
        self._callbacks.clear()

    def notify(self, ask_ids: Iterable[str]) -> None:
        """Soon notify the other processes that these asks were changed."""
        self._pending |= dict.fromkeys(ask_ids)
        if self._pending and self._sending is None:
            self._sending = asyncio.create_task(self._send_pending())

    def listen(self, callback: Callable[[str | None], None]) -> None:
        """Call ``callback`` with each ask that another process changes, or None if notifications may have been lost."""
        self._callbacks.append(callback)

    async def _send_pending(self) -> None:
        try:
            while self._pending:
                await asyncio.sleep(_COLLECT_SECONDS)
                batch = list(self._pending)[:_MAX_ASKS]
                for name in batch:
                    del self._pending[name]
                await self._notify(batch)
        except StoreError as error:
            # The others check for themselves every few seconds.
            logger.warning(
                "Other processes were not notified: %s", error, extra={"action": "notify"}
            )
            self._pending.clear()
        finally:
            self._sending = None

    async def _notify(self, names: Sequence[str]) -> None:
        params = Parameters()
        packed = [names[n : n + _MAX_NAMES] for n in range(0, len(names), _MAX_NAMES)]
        news = params.table([(f"{self._own_id} " + "\n".join(each),) for each in packed], ("text",))
        await self._database.write(f"SELECT pg_notify('{CHANNEL}', c0) FROM {news}", params.values)

    async def _connect(self) -> Connection:
        """Open a connection and verify that it receives a notification that this process sends."""
        connection = await connect(self._url)
        works = False
        try:
            await connection.execute(f"LISTEN {CHANNEL}".encode())
            await self._notify([""])
            # A notification from any process proves that the connection works.
            async for _ in connection.notifies(timeout=NOTIFICATION_TIMEOUT, stop_after=1):
                works = True
        except (psycopg.Error, StoreError) as error:
            raise self._database.failure(error) from error
        finally:
            if not works:
                await connection.close()
        if works:
            return connection
        raise StoreError(
            f"The database {self._database.name}: notifications do not arrive, because a pooler reassigns the"
            " connection between transactions, or `storage.listen_url` names another database. Set"
            " `storage.listen_url` to the address of the server itself, with the same database."
        )

    async def _listen(self, connection: Connection) -> None:
        while True:
            try:
                await self._receive(connection)
            except psycopg.Error as error:
                description = self._database.failure(error)
                logger.warning(
                    "The listening connection was lost and is being reopened: %s",
                    description,
                    extra={"action": "listen"},
                )
            await connection.close()
            self._connection = connection = await self._reconnect()

    async def _reconnect(self) -> Connection:
        """Open another connection, however long it takes."""
        while True:
            try:
                return await self._connect()
            except StoreError as error:
                self._call_back(None)
                logger.warning(
                    "The listening connection cannot be reopened: %s",
                    error,
                    extra={"action": "listen"},
                )
                await asyncio.sleep(_RETRY_SECONDS)

    async def _receive(self, connection: Connection) -> None:
        """Receive notifications. Returns only by raising an error."""
        self._call_back(None)
        async for notification in connection.notifies():
            self._handle(notification.payload)

    def _handle(self, payload: str) -> None:
        sender, _, names = payload.partition(" ")
        if names and sender != self._own_id:
            for name in names.split("\n"):
                self._call_back(name)

    def _call_back(self, name: str | None) -> None:
        for callback in self._callbacks:
            callback(name)
