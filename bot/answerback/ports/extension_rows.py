"""The rows that extensions store, and how these are erased, copied, exported and kept."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from pydantic import JsonValue

if TYPE_CHECKING:
    from answerback.ports.claims import Fence
    from answerback.ports.store_values import Delivery

T = TypeVar("T")


class NewRow(NamedTuple):
    """A row to store with a change of an ask."""

    table: str
    """The name of one of the extension's tables."""
    value: JsonValue


class AskRow(NamedTuple):
    """The one row of an ask in a table whose rows have the numbers of their asks."""

    table: str
    columns: tuple[str, ...]
    values: tuple[str, ...]


class Rows(NamedTuple):
    """The rows that an extension stores with a change of an ask, in the same transaction."""

    deliveries: tuple[Delivery, ...] = ()
    """The deliveries to send: see `answerback.ports.extension.Running.send`."""
    rows: tuple[NewRow, ...] = ()
    ask_rows: tuple[AskRow, ...] = ()
    """Rows of tables that migrations of this repository make."""


NO_ROWS = Rows()


class RowTable(NamedTuple):
    """A table of rows that belong to asks. Each is deleted when its ask is erased, and copied by `answerback copy`."""

    name: str
    """The extension's name, or that with a dot and a word after it."""
    exported: bool = False
    """True if `answerback export` prints the rows, to the operator and front ends."""
    days: float | None = None
    """The rows are deleted this many days after they were stored; None: they stay until their asks are erased."""


class StoredRow(NamedTuple):
    """A row of a table. Numbers increase, and none is used again."""

    number: int
    ask_id: str
    value: JsonValue
    at: float


class RowTransaction(Protocol):
    """Statements that are committed together; see `RowStore.transact`."""

    async def execute(self, statement: str, *values: object) -> Sequence[tuple[Any, ...]]:
        """Run a statement that both databases understand, and return its rows."""


class RowStore(Protocol):
    """The rows of extensions in the store. They are stored with changes of asks: see `answerback.ports.store.Write`."""

    async def list(self, table: str, after: int = 0, limit: int = 100) -> Sequence[StoredRow]:
        """The rows of a table after a number, in the order in which they were stored."""

    async def of_ask(self, table: str, ask_id: str) -> Sequence[StoredRow]:
        """The rows of a table that belong to an ask, in that order."""

    async def delete(self, table: str, numbers: Sequence[int]) -> None:
        """Delete rows; unknown numbers are ignored."""

    async def prune(self, table: str, before: float) -> None:
        """Delete the rows of a table that were stored before then."""

    async def read(self, statement: str, *values: object) -> Sequence[tuple[Any, ...]]:
        """Read tables with columns of their own; see `SchemaTable`.

        Args:
            statement: SQL that both databases understand, with ``$1`` and so on for the values. ``{ended}`` stands for
                what follows ``FROM asks`` for those that have ended and are not erased, and ``{ended_at}`` for when.
        """

    async def write(
        self, statement: str, rows: Sequence[Sequence[object]]
    ) -> Sequence[tuple[Any, ...]]:
        """Write to such a table, in a transaction of its own, and return what the statement returns. ``{values}``
        stands for the rows, as ``VALUES`` takes them. Objects and arrays are stored as JSON.

        Raises:
            StoreError: an object or array contains what is not text, such as half a surrogate pair.
        """

    async def read_values(self, table: str, order: str) -> Sequence[JsonValue]:
        """Return the JSON of a column ``value`` of such a table, without what cannot be read, which is logged.

        Args:
            order: the columns by which the rows are sorted.
        """

    async def transact(
        self,
        work: Callable[[RowTransaction], Coroutine[Any, Any, T]],
        *,
        lock: str | None = None,
        fence: Fence | None = None,
        within: float = 0.0,
    ) -> T:
        """Run several statements as one durable transaction. ``work`` must not wait for anything else, and may be run
        again from the beginning, as if it had not run before.

        Args:
            lock: a table to which no other transaction writes until this one ends.
            fence: the lease that has to be held, in that epoch, until it ends.
            within: how many seconds it may wait to be committed together with another one.

        Raises:
            LeaseLostError: the lease is not held, so nothing was done.
        """


class SchemaTable(NamedTuple):
    """A table with columns of its own, which a migration of this repository makes."""

    name: str
    columns: tuple[str, ...] = ()
    """The columns that `answerback copy` copies, if any; ``seq`` is a number that the database gives."""
    erase: str = ""
    """The statement that erases what belongs to the ask ``$1``; empty if nothing does."""
    given_number: bool = False
    """True if the database gives ``seq``."""
    pruned: tuple[str, str] | None = None
    """Its primary key and the column with a time, if rows are deleted some time after it; None: they stay."""
    clock_set_back: str = ""
    """The statement for when the clock was set back by ``$1`` seconds; empty if there is nothing to do."""
