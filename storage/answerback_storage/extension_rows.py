"""The rows of extensions, in a database: one table for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from answerback.ports.extension_rows import NewRow, RowStore, SchemaTable, StoredRow
from answerback.ports.installed_extensions import installed_extensions
from answerback_storage import rows
from answerback_storage.sql_database import Part, SqlDatabase, placeholders, value_rows

COLUMNS: Final = ("seq", "name", "ask_id", "value", "at")
_DELETE: Final = "DELETE FROM extension_rows WHERE name = $1 AND"


def schema_tables() -> list[SchemaTable]:
    """Return the tables with columns of their own of all installed extensions."""
    extensions = installed_extensions().usable.values()
    return [table for extension in extensions for table in extension.schema_tables]


def copied_tables() -> dict[str, Sequence[str]]:
    """Return those of these tables that are copied, with their columns."""
    return {table.name: table.columns for table in schema_tables() if table.columns}


def row(new: NewRow, ask_id: str, at: float) -> rows.Row:
    """Return a new row's columns but its number."""
    return (new.table, ask_id, rows.dump(new.value), at)


class SqlExtensionRows(Part[SqlDatabase], RowStore):
    async def list(self, table: str, after: int = 0, limit: int = 100) -> Sequence[StoredRow]:
        return await self._select("seq > $2 ORDER BY seq LIMIT $3", table, after, limit)

    async def of_ask(self, table: str, ask_id: str) -> Sequence[StoredRow]:
        return await self._select("ask_id = $2 ORDER BY seq", table, ask_id)

    async def _select(self, where: str, table: str, *values: str | int) -> Sequence[StoredRow]:
        statement = f"""SELECT seq, ask_id, {self._db.as_bytes.format("value")}, at FROM extension_rows
            WHERE name = $1 AND {where}"""
        found = await self._db.fetch(statement, table, *values)
        read = [(each, rows.read_value(each[2], "extension_rows")) for each in found]
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

    async def read(self, statement: str, *values: object) -> Sequence[rows.Row]:
        names = {"ended": self._db.ended, "ended_at": self._db.ended_at}
        return await self._db.fetch(statement.format(**names), *values)

    async def write(
        self, statement: str, rows: Sequence[Sequence[object]]
    ) -> Sequence[tuple[Any, ...]]:
        values = [value for row in rows for value in row]
        return await self._db.execute(statement.format(values=value_rows(rows)), *values)
