"""Copy everything from one database into another, empty one of either kind, verifying each table before committing.

Short-lived data is not copied: claims, leases, rate-limit pauses and sign-ins. Rows keep their numbers, so cursors and
the order of the record stay valid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import Final, NamedTuple, Protocol

from answerback.core.errors import StoreError
from answerback_storage import extension_rows, files, grants, rows

_TABLES: Final[Mapping[str, Sequence[str]]] = {
    "requests": ("seq", "request"),
    "asks": (
        *("seq", "id", "status", "surface", "channel", "thread_id", "conversation", "agent"),
        *("revision", "shown_revision", "due", "created_at", "updated_at", "urgency", "route"),
        *("message", "thread", "state", "erased_at", "left_channel", "left_until"),
    ),
    "record": ("seq", "ask_id", "at", "kind", "entry"),
    "deliveries": ("seq", *rows.DELIVERY_COLUMNS.split(", ")),
    "grants": grants.COLUMNS,
    "owed": ("seq", "ask_id", "agent", "conversation", "told", "number", "at"),
    "listed": ("id", "last"),
    "seen": ("id", "at", "digest"),
    "idempotency": ("agent", "key", "digest", "ask_id", "at"),
    "remembered": ("agent", "conversation", "turn", "tool", "question_id", "value", "at"),
    "drafts": ("key", "value", "at", "ask_id"),
    "extension_rows": extension_rows.COLUMNS,
    "files": files.COLUMNS,
    "file_chunks": files.CHUNK_COLUMNS,
    "secrets": ("name", "value"),
}
"""The tables and columns to copy, besides those of extensions. Every store has them; a store derives its other columns
from these."""
_BATCH_ROWS: Final = {"file_chunks": 8}
_MOST_ROWS: Final = 500
"""Rows held in memory at once, by table and of all others."""


def tables() -> dict[str, Sequence[str]]:
    """Return all tables to copy, with their columns."""
    return {**_TABLES, **extension_rows.copied_tables()}


class TableDigest(NamedTuple):
    """The number of rows in a table, and a digest of them that does not depend on their order."""

    rows: int
    digest: str


class CopyTransaction(Protocol):
    """A database inside one transaction: reads see a single snapshot, and writes are committed at the end."""

    name: str

    def read(self, table: str, columns: Sequence[str], batch_size: int) -> Iterator[list[rows.Row]]:
        """Yield batches of rows, which are read from the database one by one."""

    def write(self, table: str, columns: Sequence[str], new_rows: Sequence[rows.Row]) -> None:
        """Insert rows into a table."""

    def finish(self) -> None:
        """Advance the row counters past the inserted rows, and build what is derived rather than copied."""


CopyEndpoint = AbstractContextManager[CopyTransaction]
"""The source or the target of a copy: a transaction that is committed when the context exits, or rolled back on an
error."""


def copy(source: CopyEndpoint, target: CopyEndpoint) -> dict[str, TableDigest]:
    """Copy everything, and return the digest of each table of the target.

    Raises:
        StoreError: nothing was copied, because the target is not empty or a database cannot be used. The message says
            which.
    """
    with source as old, target as new:
        copied = tables()
        for table, columns in copied.items():
            if table != "listed" and any(new.read(table, columns, 1)):
                raise StoreError(
                    f"The database {new.name} is not empty (its table {table} has rows). Nothing was copied. Name a new"
                    " database that no service has been started on."
                )
        expected = {table: _digest_and_copy(old, table, new) for table in copied}
        new.finish()
        arrived = {table: _digest_and_copy(new, table) for table in copied}
        if different := [table for table in copied if arrived[table] != expected[table]]:
            raise StoreError(
                f"What arrived in the database {new.name} differs from what was read (in {', '.join(different)}), so"
                " nothing was copied. Check the disks and the logs of both."
            )
    return arrived


def _digest_and_copy(
    source: CopyTransaction, table: str, into: CopyTransaction | None = None
) -> TableDigest:
    """Compute the digest of a table, and write its rows into another database along the way if ``into`` is given."""
    count = total = 0
    columns = tables()[table]
    for batch in source.read(table, columns, _BATCH_ROWS.get(table, _MOST_ROWS)):
        if into is not None:
            into.write(table, columns, batch)
        count += len(batch)
        total += sum(int.from_bytes(sha256(repr(row).encode()).digest(), "big") for row in batch)
    return TableDigest(count, f"{total % 2**256:064x}")
