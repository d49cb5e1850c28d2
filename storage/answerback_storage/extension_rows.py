"""The rows of extensions, in a database: one table for all of them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

from pydantic import JsonValue

from answerback.ports.claims import Fence
from answerback.ports.extension_rows import (
    NewRow,
    RowStore,
    RowTransaction,
    SchemaTable,
    StoredRow,
)
from answerback.ports.installed_extensions import installed_extensions
from answerback_storage.rows import Row, dump, read_value
from answerback_storage.sql_database import Part, SqlDatabase, Transaction, placeholders, value_rows

T = TypeVar("T")

COLUMNS: Final = ("seq", "name", "ask_id", "value", "at")
_DELETE: Final = "DELETE FROM extension_rows WHERE name = $1 AND"


def schema_tables() -> list[SchemaTable]:
    """Return the tables with columns of their own of all installed extensions."""
    extensions = installed_extensions().usable.values()
    return [table for extension in extensions for table in extension.schema_tables]


def copied_tables() -> dict[str, Sequence[str]]:
    """Return those of these tables that are copied, with their columns."""
    return {table.name: table.columns for table in schema_tables() if table.columns}


def row(new: NewRow, ask_id: str, at: float) -> Row:
    """Return a new row's columns but its number."""
    return (new.table, ask_id, dump(new.value), at)


class SqlExtensionRows(Part[SqlDatabase], RowStore):
    async def list(self, table: str, after: int = 0, limit: int = 100) -> Sequence[StoredRow]:
        return await self._select("seq > $2 ORDER BY seq LIMIT $3", table, after, limit)

    async def of_ask(self, table: str, ask_id: str) -> Sequence[StoredRow]:
        return await self._select("ask_id = $2 ORDER BY seq", table, ask_id)

    async def _select(self, where: str, table: str, *values: str | int) -> Sequence[StoredRow]:
        statement = f"""SELECT seq, ask_id, {self._db.as_bytes.format("value")}, at FROM extension_rows
            WHERE name = $1 AND {where}"""
        found = await self._db.fetch(statement, table, *values)
        read = [(each, read_value(each[2], "extension_rows")) for each in found]
        return [
            StoredRow(seq, ask_id, value[0], at)
            for (seq, ask_id, _, at), value in read
            if value is not None
        ]

    async def delete(self, table: str, numbers: Sequence[int]) -> None:
        if numbers:
            statement = f"{_DELETE} seq IN ({placeholders(len(numbers), 2)})"
            await self._db.execute(statement, table, *numbers)

    async def prune(self, table: str, before: float) -> None:
        await self._db.execute(f"{_DELETE} at < $2", table, before)

    async def read(self, statement: str, *values: object) -> Sequence[Row]:
        names = {"ended": self._db.ended, "ended_at": self._db.ended_at}
        return await self._db.fetch(statement.format(**names), *values)

    async def write(
        self, statement: str, rows: Sequence[Sequence[object]]
    ) -> Sequence[tuple[Any, ...]]:
        values = [_stored(value) for row in rows for value in row]
        return await self._db.execute(statement.format(values=value_rows(rows)), *values)

    async def read_values(self, table: str, order: str) -> Sequence[JsonValue]:
        value = self._db.as_bytes.format("value")
        found = await self._db.fetch(f"SELECT {value} FROM {table} ORDER BY {order}")
        read = [read_value(each, table) for (each,) in found]
        return [each[0] for each in read if each is not None]

    async def transact(
        self,
        work: Callable[[RowTransaction], Coroutine[Any, Any, T]],
        *,
        lock: str | None = None,
        fence: Fence | None = None,
        within: float = 0.0,
    ) -> T:
        async def run(tx: Transaction) -> T:
            if fence is not None:
                await tx.check_fence(fence)
            return await work(tx)

        return await self._db.transact(run, lock=lock, within=within)


def _stored(value: object) -> object:
    """Return a column's value: objects and arrays as JSON."""
    return dump(value) if isinstance(value, dict | list) else value
