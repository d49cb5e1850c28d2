"""The migrations of the SQLite file, in the order in which they are applied. Once released, none is edited."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final, NamedTuple

from answerback_storage.sqlite import asks, schema

NAME: Final = "answerback"
"""The name of the set of migrations in the file."""


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
