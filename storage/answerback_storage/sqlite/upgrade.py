"""How an SQLite file that lacks migrations is recognised and migrated. A start imports it only for such a file."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import Final

from sqlite_utils import Database, Migrations

from answerback.core.errors import DatabaseTooNewError, StoreError
from answerback_storage.schema_upgrades import log_upgrade
from answerback_storage.sqlite.migrations import APPLICATION_ID, NAME, STEPS

logger: Final = logging.getLogger(__name__)

migrations: Final = Migrations(NAME)
for _step in STEPS:
    migrations()(_step)


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
    ours = {step.__name__ for step in STEPS}
    if newer := sorted({step.name for step in migrations.applied(db)} - ours):
        raise DatabaseTooNewError(
            f"The database {path} was written by a newer Answerback than this one (it knows"
            f" {', '.join(newer)}). Install that version again, or start with another file."
        )


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
