"""The migrations of the PostgreSQL database, in the order in which they are applied, and whether they were."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from answerback.core.errors import DatabaseTooNewError, StoreError
from answerback_postgres import schema, search
from answerback_postgres.connections import Connection, Database
from answerback_storage.sql_database import log_upgrade

logger = logging.getLogger(__name__)

MIN_VERSION: Final = 14
"""The oldest PostgreSQL that is still maintained: https://www.postgresql.org/support/versioning/"""
_LOCK: Final = 0x416E7362
"""The advisory lock that a migrating process holds for its transaction: "Ansb"."""


class Migration(NamedTuple):
    """One step: its name, which never changes once released, and its statements."""

    name: str
    statements: tuple[str, ...]
    then: Callable[[Connection], Awaitable[None]] | None = None
    """Further work in the same transaction."""


_PRUNED: Final = (
    """CREATE FUNCTION uncount_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO counters VALUES (OLD.state, pg_backend_pid() % 64, -1)
            ON CONFLICT (name, slot) DO UPDATE SET n = counters.n - 1;
        RETURN NULL;
    END $$""",
    """CREATE TRIGGER deliveries_uncounted AFTER DELETE ON deliveries FOR EACH ROW
        WHEN (OLD.type NOT LIKE 'push.%') EXECUTE FUNCTION uncount_deliveries()""",
)
"""Let old webhooks be deleted."""
_LATER_CONTENT: Final = {
    "grants": ("value", "text"),
    "agent_tokens": ("value", "text"),
    "account_links": ("value", "text"),
    "sign_ins": ("value", "text"),
    "push_subscriptions": ("value", "text"),
    "secrets": ("value", "bytea"),
    "receipts": ("beside", "text"),
}
_UNGATHERED: Final = tuple(
    f"ALTER TABLE {table} ALTER {column} TYPE {kind}, ALTER {column} SET STATISTICS 0"
    for table, (column, kind) in _LATER_CONTENT.items()
)
"""The statements of `schema.WITHOUT_STATISTICS` for the tables that were added since, and for secrets."""
MIGRATIONS: Final = (
    Migration("asks_record_and_outbox", schema.FIRST),
    Migration("erasing", schema.ERASING),
    Migration("searched", schema.SEARCHED, search.index_existing_asks),
    Migration("digests", schema.DIGESTS),
    Migration("in_place", schema.IN_PLACE),
    Migration("without_statistics", schema.WITHOUT_STATISTICS),
    Migration("limited", schema.LIMITED),
    Migration("left_behind", schema.LEFT_BEHIND),
    Migration("changes", schema.CHANGES),
    Migration("receipts", schema.RECEIPTS),
    Migration("pushed", schema.PUSHES),
    Migration("grants", schema.GRANTS),
    Migration("agent_tokens", schema.AGENT_TOKENS),
    Migration("linked", schema.ACCOUNT_LINKS),
    Migration("pruned", _PRUNED),
    Migration("ungathered", _UNGATHERED),
    Migration("extended", schema.EXTENSION_ROWS),
    Migration("owed_in_order", schema.OWED_IN_ORDER),
    Migration("numbered", schema.NUMBERS),
    Migration("urgent", schema.URGENT),
    Migration("files", schema.FILES),
    Migration("by_time", schema.ASKS_BY_TIME),
    Migration("signed_in_by_oidc", schema.OIDC_SESSIONS),
    Migration("away", schema.AWAY),
    Migration("snoozed", schema.SNOOZES),
    Migration("open_of_routes", schema.OPEN_OF_ROUTES),
    Migration("grants_looked_up", schema.GRANTS_LOOKED_UP),
    Migration("drafts_of_asks", schema.DRAFTS_OF_ASKS),
)
_OURS: Final = ("requests", "asks", "record", "deliveries", "seen", "idempotency", "health")


async def migrate(database: Database) -> None:
    """Bring the schema up to date. If several processes start at once, the others wait for the first.

    Raises:
        DatabaseTooNewError: a newer Answerback wrote it.
        StoreError: it cannot be used. The message says why.
    """
    async with database.transaction() as connection:
        await _check_server(connection, database.name)
        applied = await _applied(connection, database.name)
        if applied == {step.name for step in MIGRATIONS}:
            return  # without the lock: almost every start has nothing to do
        await connection.execute("SELECT pg_advisory_xact_lock($1)", (_LOCK,))
        # Read again: another process may have migrated while this one waited.
        applied = await _applied(connection, database.name)
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS answerback_migrations (name text PRIMARY KEY, at timestamptz NOT NULL)"
        )
        missing = [step for step in MIGRATIONS if step.name not in applied]
        for step in missing:
            for statement in step.statements:
                await connection.execute(statement.encode())
            if step.then is not None:
                await step.then(connection)
            await connection.execute(
                "INSERT INTO answerback_migrations VALUES ($1, now())", (step.name,)
            )
    if missing and applied:
        log_upgrade(logger, [step.name for step in missing])


async def unapplied(connection: Connection, name: str) -> list[str] | None:
    """Return the migrations that a start would apply, or None if there are no tables yet.

    Raises:
        StoreError: it cannot be used; DatabaseTooNewError, if a newer Answerback wrote it. The message says why.
    """
    await _check_server(connection, name)
    applied = await _applied(connection, name)
    return [step.name for step in MIGRATIONS if step.name not in applied] if applied else None


async def _applied(connection: Connection, name: str) -> set[str]:
    """Return the migrations that were applied. Refuse a schema that is not ours, or newer than this version."""
    found = await connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    )
    tables = {table for (table,) in await found.fetchall()}
    if "answerback_migrations" not in tables:
        if others := sorted(tables.intersection(_OURS)):
            raise StoreError(
                f"The database {name} belongs to another program (it has the tables {', '.join(others)})."
                " Nothing in it was changed. Set `storage.url` to a database of Answerback's own."
            )
        return set()
    rows = await (await connection.execute("SELECT name FROM answerback_migrations")).fetchall()
    applied = {step for (step,) in rows}
    if newer := sorted(applied - {step.name for step in MIGRATIONS}):
        raise DatabaseTooNewError(
            f"The database {name} was written by a newer Answerback than this one (it knows"
            f" {', '.join(newer)}). Install that version again, or start with another database."
        )
    return applied


async def _check_server(connection: Connection, name: str) -> None:
    """Check whether a server can hold the database, by its version, encoding and durability.

    Raises:
        StoreError: it cannot be used. The message says why.
    """
    version = connection.info.server_version // 10_000
    if version < MIN_VERSION:
        raise StoreError(
            f"The database {name} runs on PostgreSQL {version}, but Answerback needs {MIN_VERSION} or newer. Upgrade"
            " the server, or name another in `storage.url`."
        )
    found = await connection.execute(
        "SELECT current_setting('server_encoding'), current_setting('synchronous_commit')"
    )
    encoding, durable = await found.fetchone() or ("", "")
    if encoding != "UTF8":
        raise StoreError(
            f"The database {name} has the encoding {encoding}, which cannot store all text. Create a database with"
            " `createdb --encoding=UTF8 --template=template0 NAME`, and name that in `storage.url`."
        )
    if durable == "off":
        raise StoreError(
            f"The database {name} confirms commits before they are on disk (`synchronous_commit` is off), so a"
            " power failure would lose answers that were confirmed to people. Run `ALTER ROLE … SET"
            " synchronous_commit = on` for the role in `storage.url`."
        )
