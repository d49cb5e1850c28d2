"""The connections to a PostgreSQL server: opened on demand, and dropped when they break.

Every statement is a transaction of its own, so that no lock of ours is held while this process does something else or
is paused. psycopg's pool is not used: it hides why no connection is available, and halves the throughput (800 to 1,200
compare-and-sets a second on 4 connections, against 1,700 to 3,000 without it).
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
from answerback_postgres import driver_errors
from answerback_postgres.value_encoding import ADAPTERS
from answerback_storage.rows import Row

MAX_CONNECTIONS: Final = 8
"""The most connections that statements share, not counting the listening one."""
STATEMENT_TIMEOUT: Final = 10.0
"""Seconds that one statement may take before its connection is abandoned."""
IDLE_TRANSACTION_TIMEOUT: Final = 5.0
"""Seconds after which the server ends an idle transaction, so that a paused process does not block others."""
MAX_ATTEMPTS: Final = 3
"""The number of attempts at what fails because of other transactions, or of where a connection leads."""
_READ_ONLY: Final = "25006"
"""The server only reads. After a failover, a connection may lead to the former primary for as long as it lives."""
_REPEATABLE_STATES: Final = frozenset({"40001", "40P01", _READ_ONLY})
"""Besides that, a serialization failure and a deadlock: nothing was stored, and the next attempt may succeed."""
_DEFAULTS: Final[Mapping[str, int | str]] = {
    "application_name": "answerback",
    "client_encoding": "UTF8",
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""Defaults that the address can override. They make a vanished server noticeable within seconds."""

Connection = AsyncConnection[Row]


async def connect(url: str, *, pooled: bool = False) -> Connection:
    """Open a new connection in autocommit mode.

    Args:
        url: the database, in libpq's format.
        pooled: whether a pooler is in between. If so, no statement is prepared.

    Raises:
        StoreError: no connection is available. The message says why.
    """
    name = driver_errors.display_name(url)
    try:
        return await AsyncConnection.connect(
            url,
            autocommit=True,
            prepare_threshold=None if pooled else 3,
            cursor_factory=AsyncRawCursor,
            context=AdapterContext(),
            **_missing_defaults(url),
        )
    except psycopg.Error as error:
        raise StoreError(driver_errors.describe_connection_error(name, error)) from error


def _missing_defaults(url: str) -> dict[str, Any]:
    specified = conninfo_to_dict(url)
    return {key: value for key, value in _DEFAULTS.items() if key not in specified}


class AdapterContext:
    """The source of psycopg's adapters."""

    adapters = ADAPTERS
    connection = None


class Database:
    """Runs statements on a few connections.

    Args:
        url: the database, in libpq's format.
        pooled: whether a pooler is in between. If so, no statement is prepared.
    """

    def __init__(self, url: str, *, pooled: bool = False) -> None:
        self.url = url
        self.name = driver_errors.display_name(url)
        self._pooled = pooled
        self._idle: list[Connection] = []
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)

    async def close(self) -> None:
        """Close idle connections. A connection in use is closed when it is returned."""
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()

    async def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows.

        If the connection breaks, the statement runs again, since it changes nothing.

        Raises:
            StoreError: it failed. The message says why.
        """
        return await self._run_with_retries(statement, values, idempotent=True)

    async def write(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run one statement as one durable transaction, and return its rows.

        Raises:
            CommitUnknownError: the connection broke, so it is unknown whether the change is stored.
            StoreError: it is not stored. The message says why. The cause is an `IntegrityError` if a key existed
                already.
        """
        return await self._run_with_retries(statement, values, idempotent=False)

    async def _run_with_retries(
        self, statement: str, values: Sequence[Any], *, idempotent: bool
    ) -> list[Row]:
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                async with self._connection() as connection:
                    return await self.run(connection, statement, values)
            except psycopg.Error as error:
                disconnected = _is_disconnected(error)
                if not (idempotent if disconnected else is_repeatable(error)) or (
                    attempt == MAX_ATTEMPTS
                ):
                    raise self.failure(error, unknown=disconnected and not idempotent) from error
        raise AssertionError("the last try returns or raises")

    def failure(self, error: psycopg.Error | StoreError, *, unknown: bool = False) -> StoreError:
        """Build the error that the caller gets."""
        if isinstance(error, StoreError):
            return error
        description = driver_errors.describe_error(self.name, error)
        if unknown:
            return CommitUnknownError(
                f"{description} It is not known whether the last change was stored. Read again before retrying."
            )
        return StoreError(description)

    async def run(self, connection: Connection, statement: str, values: Sequence[Any]) -> list[Row]:
        """Run a statement on a connection of this database, which is closed if the server does not answer in time.

        Raises:
            psycopg.Error: it failed.
        """
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
        """Run several statements as one transaction, for rare operations.

        Raises:
            CommitUnknownError: the COMMIT failed.
            StoreError: none of it is stored. The message says why.
        """
        committing = False
        try:
            async with self._connection() as connection, connection.transaction():
                set_timeout = f"SET LOCAL idle_in_transaction_session_timeout = {IDLE_TRANSACTION_TIMEOUT * 1_000:.0f}"
                await connection.execute(set_timeout.encode())
                yield connection
                committing = True
        except psycopg.Error as error:
            raise self.failure(error, unknown=committing and _is_disconnected(error)) from error

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        async with self._slots:
            connection = self._pop_live_connection() or await connect(self.url, pooled=self._pooled)
            try:
                yield connection
            except psycopg.Error as error:
                if error.sqlstate == _READ_ONLY:
                    await connection.close()
                    await self.close()
                raise
            finally:
                idle = psycopg.pq.TransactionStatus.IDLE
                if connection.info.transaction_status == idle:
                    self._idle.append(connection)
                else:
                    await connection.close()

    def _pop_live_connection(self) -> Connection | None:
        """Return an idle connection that the server has not closed: with a closed one, an outcome would be unknown."""
        while self._idle:
            connection = self._idle.pop()
            if not _has_input(connection):
                return connection
            with contextlib.suppress(psycopg.Error):
                connection.pgconn.finish()
        return None


def _is_disconnected(error: psycopg.Error) -> bool:
    """Return whether the connection broke, as the driver, the server or a pooler says."""
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))


def is_repeatable(error: BaseException | None) -> bool:
    """Return whether nothing was stored, and another attempt may succeed."""
    return isinstance(error, psycopg.Error) and error.sqlstate in _REPEATABLE_STATES


def _has_input(connection: Connection) -> bool:
    """Return whether an idle connection has something to read: the server has closed it."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
