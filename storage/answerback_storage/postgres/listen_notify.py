"""News between processes: which asks were changed, told after the commit, and heard on a connection of its own.

A ``NOTIFY`` inside a transaction takes a lock of the whole server when it commits, so that all clicks would wait for
each other; told afterwards, many at a time, it costs them nothing. What is lost is found by whoever reads the
revisions of what it waits for: after each new connection, which is told here, and every few seconds.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable
from typing import Final

import psycopg

from answerback.core.errors import StoreError
from answerback_storage.postgres.connections import Connection, Database, connect
from answerback_storage.postgres.sql import Parameters

logger = logging.getLogger(__name__)

CHANNEL: Final = "answerback"
_GATHERING: Final = 0.003
"""Seconds for which changes are gathered before they are told."""
_MOST_TOLD: Final = 500
"""Asks that one statement tells of, at the most."""
_PAUSE: Final = 1.0
"""Seconds before a connection that was lost is opened anew, and tried again."""
NOTIFICATION_TIMEOUT: Final = 3.0
"""Seconds that a first notification may take from one connection to the other."""


class ChangeNotifier:
    """Tells other processes of changes, and hears of theirs.

    Args:
        database: tells.
        listen_url: where one is heard: the server itself, never a pooler.
    """

    def __init__(self, database: Database, listen_url: str) -> None:
        self._database = database
        self._url = listen_url
        self._me = secrets.token_hex(4)
        self._untold: dict[str, None] = {}
        self._telling: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._hearing: Connection | None = None
        self._heard: list[Callable[[str | None], None]] = []

    async def open(self) -> None:
        """Listens.

        Raises:
            StoreError: no connection can be had, or none that hears anything; in words.
        """
        self._hearing = await self._connect()
        self._listening = asyncio.create_task(self._listen(self._hearing))

    async def close(self) -> None:
        """Tells what is to be told, and hears nothing any more."""
        if self._telling is not None:
            await self._telling
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait([self._listening])
        if self._hearing is not None:
            await self._hearing.close()
        self._heard.clear()

    def notify(self, ask_ids: Iterable[str]) -> None:
        """Tells the other processes, soon, that these asks were changed."""
        self._untold |= dict.fromkeys(ask_ids)
        if self._untold and self._telling is None:
            self._telling = asyncio.create_task(self._tell())

    def listen(self, heard: Callable[[str | None], None]) -> None:
        """Has this told of each ask that another process changes; of None, where news may have been lost."""
        self._heard.append(heard)

    async def _tell(self) -> None:
        try:
            while self._untold:
                await asyncio.sleep(_GATHERING)
                told = list(self._untold)[:_MOST_TOLD]
                for name in told:
                    del self._untold[name]
                await self._notify(told)
        except StoreError as error:
            # The others look by themselves every few seconds.
            logger.warning("Other processes were not told: %s", error, extra={"action": "notify"})
            self._untold.clear()
        finally:
            self._telling = None

    async def _notify(self, names: Iterable[str]) -> None:
        given = Parameters()
        values = given.rows([(f"{self._me} {name}",) for name in names], ("text",))
        await self._database.write(
            f"SELECT pg_notify('{CHANNEL}', c0) FROM ({values}) AS news (c0, n)", given.values
        )

    async def _connect(self) -> Connection:
        """A connection that hears what this process tells itself."""
        connection = await connect(self._url)
        hears = False
        try:
            await connection.execute(f"LISTEN {CHANNEL}".encode())
            await self._notify([""])
            # Whoever told it, it is heard.
            hears = bool(
                [
                    one
                    async for one in connection.notifies(timeout=NOTIFICATION_TIMEOUT, stop_after=1)
                ]
            )
        except (psycopg.Error, StoreError) as error:
            raise self._database.failure(error) from error
        finally:
            if not hears:
                await connection.close()
        if hears:
            return connection
        raise StoreError(
            f"The database {self._database.name}: notifications do not arrive, because a pooler hands the connection"
            " on between transactions, or `storage.listen_url` is another database. Set `storage.listen_url` to the"
            " address of the server itself and the same database."
        )

    async def _listen(self, connection: Connection) -> None:
        while True:
            try:
                await self._hear(connection)
            except psycopg.Error as error:
                said = self._database.failure(error)
                logger.warning("Listening anew: %s", said, extra={"action": "listen"})
            await connection.close()
            self._hearing = connection = await self._anew()

    async def _anew(self) -> Connection:
        """Another connection, however long that takes."""
        while True:
            try:
                return await self._connect()
            except StoreError as error:
                self._say(None)
                logger.warning("Not listening: %s", error, extra={"action": "listen"})
                await asyncio.sleep(_PAUSE)

    async def _hear(self, connection: Connection) -> None:
        """Returns only with an error."""
        self._say(None)
        async for notification in connection.notifies():
            self._take(notification.payload)

    def _take(self, payload: str) -> None:
        sender, _, name = payload.partition(" ")
        if name and sender != self._me:
            self._say(name)

    def _say(self, name: str | None) -> None:
        for heard in self._heard:
            heard(name)
