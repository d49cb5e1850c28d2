"""The migrations of the SQLite file, in the order in which they are applied. Once released, none is edited."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from answerback_storage.sqlite import asks, schema

NAME: Final = "answerback"
"""The name of the set of migrations in the file."""
_APPLIED: Final = (
    """CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
)""",
    """CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name")""",
)
"""The table in which sqlite-utils notes what it has applied."""


class Migration(NamedTuple):
    """One step: its name, which never changes once released, and its statements."""

    name: str
    statements: tuple[str, ...]
    then: Callable[[sqlite3.Connection], None] | None = None
    """Further work in the same transaction."""


MIGRATIONS: Final = (
    Migration("asks_record_and_outbox", schema.FIRST),
    Migration("remembered_by_agent", schema.REMEMBERED_BY_AGENT),
    Migration("asks_by_message", schema.ASKS_BY_MESSAGE),
    Migration("health_of_size", schema.HEALTH_OF_SIZE),
    Migration("behind_by_place", schema.BEHIND_BY_PLACE),
    Migration("owed", schema.OWED),
    Migration("claims", schema.CLAIMS),
    Migration("erasing", schema.ERASING),
    Migration("searched", schema.SEARCHED, asks.index_existing_asks),
    Migration("digests", schema.DIGESTS),
    Migration("chained", schema.CHAINED),
    Migration("unindexed", schema.UNINDEXED),
    Migration("limited", schema.LIMITED),
    Migration("left_behind", schema.LEFT_BEHIND),
    Migration("receipts_and_keys", schema.RECEIPTS),
    Migration("pushed", schema.PUSHES),
    Migration("granted", schema.GRANTS),
    Migration("signed_in", schema.AGENT_TOKENS),
    Migration("linked", schema.ACCOUNT_LINKS),
    Migration("pruned", schema.PRUNED),
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


def is_current(connection: sqlite3.Connection) -> bool:
    """Return whether a file is ours, with exactly the migrations of this version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != schema.APPLICATION_ID:
        return False
    try:
        rows = connection.execute(
            "SELECT name FROM _sqlite_migrations WHERE migration_set = ?", (NAME,)
        ).fetchall()
    except sqlite3.OperationalError:  # without that table, it says nothing about itself
        return False
    return {name for (name,) in rows} == {migration.name for migration in MIGRATIONS}


def create_if_empty(connection: sqlite3.Connection) -> bool:
    """Apply all migrations to an empty file, as `migrate` would; return False if the file is not empty.

    The first start of a service thus loads no sqlite-utils, which takes 4 MB of memory.
    """
    if not _is_empty(connection):
        return False
    connection.execute("BEGIN IMMEDIATE")
    try:
        if is_empty := _is_empty(connection):  # no other process has created it meanwhile
            _create(connection)
    except BaseException:
        connection.rollback()
        raise
    connection.execute("COMMIT")
    return is_empty


def _is_empty(connection: sqlite3.Connection) -> bool:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    return not application and not connection.execute("SELECT 1 FROM sqlite_schema").fetchone()


def _create(connection: sqlite3.Connection) -> None:
    for statement in _APPLIED:
        connection.execute(statement)
    for name, statements, then in MIGRATIONS:
        for statement in statements:
            connection.execute(statement)
        if then is not None:
            then(connection)
        connection.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES (?, ?, ?)",
            (NAME, name, str(datetime.now(UTC))),
        )
