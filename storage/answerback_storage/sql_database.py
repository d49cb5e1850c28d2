"""The operations that both databases offer to the parts of a store that are the same in both.

The values of a statement are ``$1``, ``$2`` and so on, which both understand.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar

from answerback.core.ask import Ask, RecordEntry
from answerback.ports.claims import Fence
from answerback_storage.rows import RequestCache, Row, UnreadableRows

D = TypeVar("D")
T = TypeVar("T")


class Transaction(ABC):
    """Statements that are committed together."""

    @abstractmethod
    async def execute(self, statement: str, *values: object) -> list[Row]:
        """Run a statement and return its rows."""

    @abstractmethod
    async def get(self, ask_id: str) -> Ask | None:
        """Return an ask that no other transaction changes until the transaction ends, or None."""

    @abstractmethod
    async def get_readable(self, ask_ids: Collection[str]) -> list[Ask]:
        """Return those of these asks that can be read, in this order."""

    @abstractmethod
    async def update(self, old: Ask, new: Ask) -> None:
        """Store the new state of an ask that `get` has returned."""

    @abstractmethod
    async def add_lines(self, entries: Iterable[tuple[str | None, RecordEntry]]) -> None:
        """Append entries to the record, each for an ask or (None) for none."""

    @abstractmethod
    async def check_fence(self, fence: Fence) -> None:
        """Raise LeaseLostError unless the lease is held in that epoch, and stays so until the transaction ends."""


class SqlDatabase(ABC):
    """A database that runs statements."""

    requests: RequestCache
    unreadable: UnreadableRows
    as_bytes: ClassVar[str]
    """The expression for the bytes of a text, which in a damaged file may not be UTF-8; ``{}`` is the column."""
    position: ClassVar[str]
    """The function that tells where a text contains another one; 0 if it does not."""
    message_id: ClassVar[str]
    """The id of an ask's live message."""
    ended: ClassVar[str]
    """The end of a query, after ``FROM asks``, for those that have ended and are not erased."""
    ended_at: ClassVar[str]
    """The column that says when they ended."""
    for_update: ClassVar[str]
    """The end of a query whose rows no other transaction changes until the transaction ends."""
    lines: ClassVar[str]
    """The statement that reads lines of the record: their number, time and entry, which is bytes.

    Its values are an ask, the number after which the lines begin, and how many they are at most.
    """

    @abstractmethod
    async def fetch(self, statement: str, *values: object) -> list[Row]:
        """Run a statement that changes nothing, and return its rows."""

    @abstractmethod
    async def execute(self, statement: str, *values: object) -> list[Row]:
        """Run one statement as a durable transaction, and return its rows."""

    @abstractmethod
    def transact(
        self,
        work: Callable[[Transaction], Coroutine[Any, Any, T]],
        *,
        lock: str | None = None,
        within: float = 0.0,
    ) -> Awaitable[T]:
        """Run several statements as one durable transaction. ``work`` must not wait for anything else, and may be run
        again from the beginning, as if it had not run before.

        Args:
            lock: a table to which no other transaction writes until the transaction ends.
            within: how many seconds it may wait to be committed together with another one.
        """

    @abstractmethod
    def find(
        self,
        query: str,
        values: Sequence[object],
        limit: int,
        wanted: Callable[[Ask], bool] = lambda _ask: True,
    ) -> Awaitable[list[tuple[int, Ask]]]:
        """Return the first asks that can be read and are wanted, with their numbers.

        Args:
            query: what follows ``FROM asks``, without a limit.
        """

    @abstractmethod
    async def scrub(self) -> None: ...

    @abstractmethod
    def equals(self, column: str, reference: str) -> str:
        """Return the condition that a column has this value, in the form that the indexes use."""

    @abstractmethod
    def primary_key(self, table: str) -> str:
        """Return the columns of the primary key of a table of `KEYS`."""

    @abstractmethod
    def key(self, table: str, *names: str) -> tuple[str, Sequence[object]]:
        """Return the condition that a row of `KEYS` has this key, and its values."""


class Part(Generic[D]):
    """A part of a store, which runs its statements on a database."""

    def __init__(self, db: D) -> None:
        self._db = db


OPEN_BY_URGENCY: Final = "status = 'open' AND (urgency, seq) > ($1, $2)"
"""The condition of open asks behind a place in the order of their urgency, as the index ``asks_waiting`` has them."""
KEYS: Final = {
    "idempotency": ("agent", "key"),
    "remembered": ("agent", "conversation", "turn", "tool", "question_id"),
    "drafts": ("key",),
}
"""The keys of tables that agents and people name, which may be longer than an index entry."""


def placeholders(count: int, first: int = 1) -> str:
    """Return references to so many values, beginning with the number ``first``, as ``IN`` takes them."""
    return ", ".join(f"${number}" for number in range(first, first + count)) or "NULL"


def value_rows(rows: Sequence[Sequence[object]]) -> str:
    """Return references to the values of rows, as ``VALUES`` takes them."""
    width = len(rows[0])
    return ", ".join(f"({placeholders(width, 1 + n * width)})" for n in range(len(rows)))


def where(
    db: SqlDatabase,
    columns: Mapping[str, str | None],
    *conditions: tuple[str, object],
    first: int = 1,
) -> tuple[str, list[object]]:
    """Return the conditions of a query, and their values. One whose value is None is left out.

    Args:
        columns: the values that columns must have.
        conditions: further conditions with their values, for which ``{}`` stands.
        first: the number of the first value in the statement.
    """
    terms: list[str] = []
    values: list[object] = []
    templates = [(db.equals(column, "{}"), value) for column, value in columns.items()]
    for template, value in (*templates, *conditions):
        if value is not None:
            values.append(value)
            terms.append(template.replace("{}", f"${len(values) + first - 1}"))
    return " AND ".join(terms), values


def log_upgrade(logger: logging.Logger, migrations: Sequence[str]) -> None:
    """Log which migrations were applied to a database that an older version had written."""
    text, extra = "The database's schema was upgraded: %s", {"action": "schema_upgraded"}
    logger.info(text, ", ".join(migrations), extra=extra)
