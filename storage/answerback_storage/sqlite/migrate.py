"""Recognise and migrate an SQLite file that lacks migrations. A start imports this only for such a file."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sqlite_utils import Database, Migrations

from answerback.core.errors import DatabaseTooNewError, StoreError
from answerback_storage.sql_database import log_upgrade
from answerback_storage.sqlite.migrations import MIGRATIONS, NAME, Migration
from answerback_storage.sqlite.schema import APPLICATION_ID

logger: Final = logging.getLogger(__name__)


def _function_of(migration: Migration) -> Callable[[Database], None]:
    def apply(db: Database) -> None:
        for statement in migration.statements:
            db.execute(statement)
        if migration.then is not None:
            migration.then(db.conn)

    return apply


migrations: Final = Migrations(NAME)
for _migration in MIGRATIONS:
    migrations(name=_migration.name)(_function_of(_migration))


def recognise(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse files that are not ours, before anything in them is touched."""
    db = Database(connection, execute_plugins=False)
    connection.execute("BEGIN")  # one snapshot, even if another process is creating this file
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    other_tables = [name for name in db.table_names() if name != migrations.migrations_table]
    connection.execute("COMMIT")
    if application != APPLICATION_ID:
        if application != 0 or other_tables:
            raise StoreError(
                f"The database {path} belongs to another program (it has the tables"
                f" {', '.join(other_tables[:5]) or '(none)'}). Nothing in it was changed. Set"
                " `storage.url` to a file of Answerback's own."
            )
        return
    ours = {migration.name for migration in MIGRATIONS}
    if newer := sorted({step.name for step in migrations.applied(db)} - ours):
        raise DatabaseTooNewError(
            f"The database {path} was written by a newer Answerback than this one (it knows"
            f" {', '.join(newer)}). Install that version again, or start with another file."
        )


def unapplied(connection: sqlite3.Connection) -> list[str] | None:
    """Return the migrations that `migrate` would apply, or None if there are no tables yet."""
    db = Database(connection, execute_plugins=False)
    if not migrations.applied(db):
        return None
    return [step.name for step in migrations.pending(db)]


def migrate(connection: sqlite3.Connection) -> None:
    """Apply missing migrations, all or none. A second process that starts now waits for this one."""
    db = Database(connection, execute_plugins=False)
    connection.execute("BEGIN IMMEDIATE")
    try:
        is_new = not migrations.applied(db)
        missing = [step.name for step in migrations.pending(db)]
        migrations.apply(db)
    except BaseException:
        connection.rollback()
        raise
    connection.execute("COMMIT")
    if missing and not is_new:
        log_upgrade(logger, missing)
