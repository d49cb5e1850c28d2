"""Give a statement its values."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence


def run_statement(
    db: sqlite3.Connection, statement: str, values: Sequence[object]
) -> sqlite3.Cursor:
    """Run a statement whose values are ``$1``, ``$2`` and so on.

    They are bound by name. Python 3.12 warns of numbered values that are bound as a sequence:
    https://docs.python.org/3.12/library/sqlite3.html#sqlite3.Cursor.execute
    """
    return db.execute(statement, {str(n): value for n, value in enumerate(values, 1)})
