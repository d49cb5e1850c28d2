"""Everything of one database into another, empty one, of whichever kind: checked row by row before it counts.

What is not copied is what lasts for moments only: claims, leases, and what a platform's rate limit asks for. Rows keep
their numbers, so cursors and the record's order stay as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import Final, NamedTuple, Protocol

from answerback.core.errors import StoreError
from answerback_storage import rows

TABLES: Final[Mapping[str, Sequence[str]]] = {
    "requests": ("seq", "request"),
    "asks": (
        *("seq", "id", "status", "surface", "channel", "thread_id", "conversation", "agent"),
        *("revision", "shown_revision", "due", "created_at", "updated_at"),
        *("message", "thread", "state", "erased_at"),
    ),
    "record": ("seq", "ask_id", "at", "kind", "entry"),
    "deliveries": ("seq", *rows.DELIVERY_COLUMNS.split(", ")),
    "owed": ("seq", "ask_id", "agent", "conversation", "told", "number", "at"),
    "listed": ("id", "last"),
    "seen": ("id", "at", "digest"),
    "idempotency": ("agent", "key", "digest", "ask_id", "at"),
    "remembered": ("agent", "conversation", "turn", "tool", "question_id", "value", "at"),
    "drafts": ("key", "value", "at"),
    "secrets": ("name", "value"),
}
"""What is copied. Every store has these columns; what else a store has, it makes of them."""
_STEP: Final = 500
"""Rows that are in memory at once."""


class TableDigest(NamedTuple):
    """How many rows a table has, and a digest of them in any order."""

    rows: int
    digest: str


class CopyTransaction(Protocol):
    """A database in one transaction: what is read is of one moment, what is written counts at its end."""

    name: str

    def read(self, table: str, columns: Sequence[str], at_once: int) -> Iterator[list[rows.Row]]:
        """All rows of a table, in parts."""

    def write(self, table: str, columns: Sequence[str], found: Sequence[rows.Row]) -> None:
        """Adds rows to a table."""

    def finish(self) -> None:
        """Has new rows numbered behind those that were added, and makes what is not copied."""


class CopyEndpoint(Protocol):
    """A database that can be copied, or copied to."""

    def begin_transaction(self) -> AbstractContextManager[CopyTransaction]:
        """The database in a transaction that is committed at the end of the context, and undone by an error."""


def copy(source: CopyEndpoint, target: CopyEndpoint) -> dict[str, TableDigest]:
    """Copies everything; what each table of the target has now.

    Raises:
        StoreError: nothing was copied: the target is not empty, or a database cannot be used; in words.
    """
    with source.begin_transaction() as old, target.begin_transaction() as new:
        for table, columns in TABLES.items():
            if table != "listed" and any(new.read(table, columns, 1)):
                raise StoreError(
                    f"The database {new.name} is not empty (its table {table} has rows). Nothing was copied: name a new"
                    " database, which no service was started on."
                )
        wanted = {table: _copied(old, table, new) for table in TABLES}
        new.finish()
        found = {table: _copied(new, table) for table in TABLES}
        if different := [table for table in TABLES if found[table] != wanted[table]]:
            raise StoreError(
                f"What arrived in the database {new.name} differs from what was read (in {', '.join(different)}), so"
                " nothing was copied. Look at the disks and the logs of both."
            )
    return found


def _copied(side: CopyTransaction, table: str, into: CopyTransaction | None = None) -> TableDigest:
    """The digest of a table, whose rows are written into another database meanwhile."""
    count = total = 0
    columns = TABLES[table]
    for part in side.read(table, columns, _STEP):
        if into is not None:
            into.write(table, columns, part)
        count += len(part)
        total += sum(int.from_bytes(sha256(repr(row).encode()).digest(), "big") for row in part)
    return TableDigest(count, f"{total % 2**256:064x}")
