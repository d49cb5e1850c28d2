"""How the parts of the SQLite store run their statements: `answerback_storage.sqlite.database.SqliteDatabase`."""

from __future__ import annotations

import sqlite3
from asyncio import Future
from collections.abc import Callable
from typing import Protocol, TypeVar

from answerback_storage import rows

T = TypeVar("T")


class Runner(Protocol):
    """Runs functions on the file's connections."""

    requests: rows.RequestCache

    def read(self, run: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Run a function that only reads. It sees everything that was committed before this call."""

    def write(
        self, run: Callable[[sqlite3.Connection], T], then: Callable[[T], None] | None = None
    ) -> Future[T]:
        """Run a function in a durable transaction, then call ``then`` with its result, even if the caller has gone."""
