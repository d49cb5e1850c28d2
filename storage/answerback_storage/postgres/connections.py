"""The connections to a PostgreSQL server: opened when they are needed, dropped when they break; what failed in words.

Every statement is a transaction of its own, so that no lock of ours is ever held while this process does something
else, or is paused. psycopg's own pool is not used: it hides why no connection can be had, and halves the clicks a
second (1,700 to 3,000 compare-and-sets a second on 4 connections beside 800 to 1,200 with it).
"""

from __future__ import annotations

import asyncio
import contextlib
import select
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import psycopg
from psycopg import AsyncConnection, AsyncRawCursor
from psycopg.conninfo import conninfo_to_dict

from answerback.core.errors import CommitUnknownError, StoreError
from answerback_storage.postgres import driver_errors
from answerback_storage.postgres.value_encoding import ADAPTERS
from answerback_storage.rows import Row

MAX_CONNECTIONS: Final = 8
"""Connections that statements share, at the most; the listening one comes on top."""
STATEMENT_TIMEOUT: Final = 10.0
"""Seconds that one statement may take: then its connection is given up."""
IDLE_TRANSACTION_TIMEOUT: Final = 5.0
"""Seconds after which the server ends a transaction that stands still: a paused process holds up no other."""
_TRIES: Final = 3
"""How often a statement is tried that other transactions were in the way of."""
_IN_THE_WAY: Final = frozenset({"40001", "40P01"})
"""A serialization failure, a deadlock: nothing was stored, and the next try may succeed."""
_DEFAULTS: Final[Mapping[str, int | str]] = {
    "application_name": "answerback",
    "client_encoding": "UTF8",
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""What holds unless the address says something else: a server that vanishes is noticed within seconds."""

Connection = AsyncConnection[Row]


async def connect(url: str, *, pooled: bool = False) -> Connection:
    """A new connection, in autocommit mode.

    Args:
        url: the database, as libpq takes it.
        pooled: a pooler stands in between: no statement is prepared.

    Raises:
        StoreError: there is none to be had; in words.
    """
    name = driver_errors.display_name(url)
    try:
        return await AsyncConnection.connect(
            url,
            autocommit=True,
            prepare_threshold=None if pooled else 3,
            cursor_factory=AsyncRawCursor,
            context=AdapterContext(),
            **_missing(url),
        )
    except psycopg.Error as error:
        raise StoreError(driver_errors.describe_connection_error(name, error)) from error


def _missing(url: str) -> dict[str, Any]:
    given = conninfo_to_dict(url)
    return {key: value for key, value in _DEFAULTS.items() if key not in given}


class AdapterContext:
    """What psycopg takes adapters from."""

    adapters = ADAPTERS
    connection = None


class Database:
    """Statements on a few connections.

    Args:
        url: the database, as libpq takes it.
        pooled: a pooler stands in between: no statement is prepared.
    """

    def __init__(self, url: str, *, pooled: bool = False) -> None:
        self.url = url
        self.name = driver_errors.display_name(url)
        self._pooled = pooled
        self._idle: list[Connection] = []
        self._free = asyncio.Semaphore(MAX_CONNECTIONS)

    async def close(self) -> None:
        """Closes what is idle; whatever is in use closes by itself."""
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()

    async def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """The rows that a statement finds. It is tried again where its connection broke, since it changes nothing.

        Raises:
            StoreError: it could not be done; in words.
        """
        return await self._tried(statement, values, again=True)

    async def write(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Runs one statement as one durable transaction; the rows that it returns.

        Raises:
            CommitUnknownError: the connection broke: nobody knows whether it is stored.
            StoreError: it is not stored; in words. An `IntegrityError` is its cause where a key was there already.
        """
        return await self._tried(statement, values, again=False)

    async def _tried(self, statement: str, values: Sequence[Any], *, again: bool) -> list[Row]:
        for attempt in range(1, _TRIES + 1):
            try:
                async with self._connection() as connection:
                    return await self._run(connection, statement, values)
            except psycopg.Error as error:
                lost = error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))
                repeatable = again if lost else error.sqlstate in _IN_THE_WAY
                if not repeatable or attempt == _TRIES:
                    raise self.failure(error, unknown=lost and not again) from error
        raise AssertionError("the last try returns or raises")

    def failure(self, error: psycopg.Error | StoreError, *, unknown: bool = False) -> StoreError:
        """The error for whoever asked for what failed."""
        if isinstance(error, StoreError):
            return error
        said = driver_errors.describe_error(self.name, error)
        if unknown:
            return CommitUnknownError(
                f"{said} Whether the last change is stored is not known: read again before trying again."
            )
        return StoreError(said)

    async def _run(
        self, connection: Connection, statement: str, values: Sequence[Any]
    ) -> list[Row]:
        try:
            async with asyncio.timeout(STATEMENT_TIMEOUT):
                cursor = await connection.execute(statement.encode(), values)
        except TimeoutError:
            await connection.close()
            raise psycopg.OperationalError(
                f"the server did not answer within {STATEMENT_TIMEOUT:g} seconds"
            ) from None
        return [] if cursor.description is None else await cursor.fetchall()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Several statements as one transaction, for rare work.

        Raises:
            CommitUnknownError: the COMMIT failed.
            StoreError: nothing of it is stored; in words.
        """
        committing = False
        try:
            async with self._connection() as connection, connection.transaction():
                longest = f"SET LOCAL idle_in_transaction_session_timeout = {IDLE_TRANSACTION_TIMEOUT * 1_000:.0f}"
                await connection.execute(longest.encode())
                yield connection
                committing = True
        except psycopg.Error as error:
            raise self.failure(error, unknown=committing and error.sqlstate is None) from error

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        async with self._free:
            connection = self._alive() or await connect(self.url, pooled=self._pooled)
            try:
                yield connection
            finally:
                idle = psycopg.pq.TransactionStatus.IDLE
                if connection.info.transaction_status == idle:
                    self._idle.append(connection)
                else:
                    await connection.close()

    def _alive(self) -> Connection | None:
        """An idle connection that its server has not closed meanwhile: such a one would make an outcome unknown."""
        while self._idle:
            connection = self._idle.pop()
            if not _has_news(connection):
                return connection
            with contextlib.suppress(psycopg.Error):
                connection.pgconn.finish()
        return None


def _has_news(connection: Connection) -> bool:
    """Whether there is something to read on a connection that nobody asked anything: the server's farewell."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
