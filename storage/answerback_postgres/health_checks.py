"""The checks of `answerback doctor` for a PostgreSQL database. They change nothing: no table is created or upgraded."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Final

import psycopg

from answerback.core.errors import StoreError
from answerback.ports.plugin import Finding
from answerback_postgres import migrations
from answerback_postgres.connections import (
    MAX_CONNECTIONS,
    Connection,
    Database,
    connect,
)
from answerback_postgres.listen_notify import ChangeNotifier
from answerback_storage.rows import Row

_RUN_AGAIN: Final = "Fix that, then run this again."
MAX_CLOCK_DIFFERENCE: Final = 5.0
"""Seconds by which clocks may differ before people notice it in logs."""
_RIGHTS: Final = """SELECT current_user, current_schema(),
    current_setting('transaction_read_only') = 'on' OR pg_is_in_recovery(),
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
    array(SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()
        AND NOT (has_table_privilege(format('%I.%I', schemaname, tablename), 'SELECT')
            AND has_table_privilege(format('%I.%I', schemaname, tablename), 'INSERT')
            AND has_table_privilege(format('%I.%I', schemaname, tablename), 'UPDATE')
            AND has_table_privilege(format('%I.%I', schemaname, tablename), 'DELETE')) ORDER BY 1),
    array(SELECT DISTINCT tableowner::text FROM pg_tables WHERE schemaname = current_schema()
        AND NOT pg_has_role(tableowner, 'USAGE') ORDER BY 1)"""
_FREE_CONNECTIONS: Final = """SELECT least(
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
            - coalesce(current_setting('reserved_connections', true)::int, 0) - count(*),
        (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user AND rolconnlimit >= 0)
            - count(*) FILTER (WHERE usename = current_user),
        (SELECT datconnlimit FROM pg_database WHERE datname = current_database() AND datconnlimit >= 0)
            - count(*) FILTER (WHERE datname = current_database())
    )::int + 1 FROM pg_stat_activity WHERE backend_type = 'client backend'"""
"""The connections that the server, the role and the database still allow, counting this one, which is about to end."""


async def findings(url: str, listen_url: str | None) -> AsyncIterator[Finding]:
    """Run all checks in turn. If the database cannot be reached, report only that.

    Args:
        url: the database, in libpq's format.
        listen_url: the address for notifications, if it is another one.
    """
    database = Database(url, pooled=True)
    try:
        connection = await connect(url, pooled=True)
    except StoreError as error:
        yield Finding("database", str(error), _RUN_AGAIN)
        return
    try:
        yield await _schema(connection, database.name)
        yield await _rights(connection)
        yield await _clock(connection)
        yield await _connections(connection)
        yield await _pooler(connection, listen_url)
    except (psycopg.Error, StoreError) as error:
        yield Finding("database", str(database.failure(error)), _RUN_AGAIN)
        return
    finally:
        await connection.close()
    yield await _notifications(database, listen_url)
    await database.close()


async def _fetch_one(connection: Connection, statement: str) -> Row:
    found = await (await connection.execute(statement.encode())).fetchone()
    assert found is not None
    return found


async def _schema(connection: Connection, name: str) -> Finding:
    unapplied = await migrations.unapplied(connection, name)
    version = f"database {name}, PostgreSQL {connection.info.server_version // 10_000}"
    if unapplied is None:
        return Finding(f"{version}, its tables to be created by `answerback serve`")
    if unapplied:
        return Finding(f"{version}, to be upgraded by `answerback serve` ({', '.join(unapplied)})")
    return Finding(version)


async def _rights(connection: Connection) -> Finding:
    role, schema, read_only, may_create, lacking, owners = await _fetch_one(connection, _RIGHTS)
    check = f"rights of the role {role}"
    if schema is None:
        fix = f"Run `CREATE SCHEMA AUTHORIZATION {role}`, or set the role's `search_path` to a schema that exists."
        return Finding(check, "no schema in its `search_path` exists", fix)
    if read_only:
        fix = (
            "Name the primary server in `storage.url` (for several hosts, with"
            " `target_session_attrs=read-write`), or end its read-only mode."
        )
        return Finding(check, "it can only read: the server is a standby or read-only", fix)
    if lacking:
        fix = f"Run `GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {role}` as their owner."
        wrong = f"it may not read, write and delete rows in {', '.join(lacking[:3])}"
        return Finding(
            check, wrong if len(lacking) <= 3 else f"{wrong} and {len(lacking) - 3} more", fix
        )
    if not may_create:
        fix = f"Run `GRANT ALL ON SCHEMA {schema} TO {role}`, or make it the owner of the database."
        return Finding(check, f"it may not create tables in the schema {schema}", fix)
    if owners:
        fix = f"Run `REASSIGN OWNED BY {owners[0]} TO {role}`, or `GRANT {owners[0]} TO {role}`."
        wrong = f"tables belong to {', '.join(owners)}, so an upgrade could not change them"
        return Finding(check, wrong, fix, warning=True)
    return Finding(check)


async def _clock(connection: Connection) -> Finding:
    before = time.time()
    (database_time,) = await _fetch_one(
        connection, "SELECT extract(epoch FROM clock_timestamp())::float8"
    )
    return clock_finding((before + time.time()) / 2 - database_time)


def clock_finding(ahead: float) -> Finding:
    """Build the finding about a clock that is the given number of seconds ahead of the database's."""
    if abs(ahead) <= MAX_CLOCK_DIFFERENCE:
        return Finding("clock: the database's and this machine's agree")
    wrong = f"this machine's is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the database's"
    fix = (
        "Replicas use the database's clock. Keep both accurate with NTP: otherwise deadlines and the times in logs"
        " are wrong."
    )
    return Finding("clock", wrong, fix, warning=True)


async def _connections(connection: Connection) -> Finding:
    (free,) = await _fetch_one(connection, _FREE_CONNECTIONS)
    needed = MAX_CONNECTIONS + 1
    if free >= needed:
        return Finding(f"connections: {free} more can be opened; a replica uses at most {needed}")
    fix = (
        "Raise `max_connections` (or the `CONNECTION LIMIT` of the role or the database), stop other programs that"
        " use the server, or put a pooler in front of it."
    )
    wrong = f"{free} more can be opened, but each replica uses up to {needed}"
    return Finding("connections", wrong, fix, warning=True)


async def _pooled(connection: Connection) -> bool:
    """Return whether a pooler is in between: its id for the server's process then differs from the server's own."""
    (pid,) = await _fetch_one(connection, "SELECT pg_backend_pid()")
    return bool(pid != connection.info.backend_pid)


async def _pooler(connection: Connection, listen_url: str | None) -> Finding:
    if not await _pooled(connection):
        if listen_url is None:
            return Finding("pooler: none")
        wrong = "there is no pooler, and setting `storage.listen_url` needlessly disables prepared statements"
        return Finding("pooler", wrong, "Remove `storage.listen_url`.", warning=True)
    if listen_url is None:
        wrong = "there is one, but `storage.listen_url` is not set"
        fix = (
            "Set `storage.listen_url` to the address of the server itself. Otherwise the pooler must be in"
            " session mode."
        )
        return Finding("pooler", wrong, fix, warning=True)
    direct = await connect(listen_url, pooled=True)
    try:
        direct_is_pooled = await _pooled(direct)
    finally:
        await direct.close()
    if not direct_is_pooled:
        return Finding("pooler: statements go through one, and notifications do not")
    wrong = "there is one at `storage.listen_url` too, and it may lose notifications"
    return Finding("pooler", wrong, "Set it to the address of the server itself.", warning=True)


async def _notifications(database: Database, listen_url: str | None) -> Finding:
    notifier = ChangeNotifier(database, listen_url or database.url)
    began = time.perf_counter()
    try:
        await notifier.open()
    except StoreError as error:
        return Finding("notifications", str(error), _RUN_AGAIN)
    elapsed = time.perf_counter() - began
    await notifier.close()
    return Finding(f"notifications arrive ({elapsed * 1000:.0f} ms including the connection)")
