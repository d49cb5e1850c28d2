"""Helpers that build statements: numbered parameters, rows of values, and several statements combined into one.

Rows are passed as one array per column, so that a statement has the same text for one row as for fifty, and the server
parses and plans it once per connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from answerback_storage.rows import Row

_INDEXED_CHARACTERS: Final = 128
"""Characters of a name that an index holds. An index entry has at most 2,704 bytes, and names can be longer."""


class Parameters:
    """The parameters of a statement, numbered in the order in which they are added."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def add(self, value: Any, kind: str = "text") -> str:
        """Add a value, and return the reference to it."""
        self.values.append(value)
        return f"${len(self.values)}::{kind}"

    def row(self, row: Row, kinds: Sequence[str]) -> str:
        """Add several values, each with its type, and return the references to them."""
        first = len(self.values) + 1
        self.values += row
        return ", ".join(f"${number}::{kind}" for number, kind in enumerate(kinds, first))

    def rows(self, found: Iterable[Row], kinds: Sequence[str]) -> str:
        """Add rows, and return the query that selects them, each with its number after its columns."""
        columns = list(zip(*found, strict=True)) or [()] * len(kinds)
        arrays = (
            self.add(_array(values), f"{kind}[]")
            for values, kind in zip(columns, kinds, strict=True)
        )
        return f"SELECT * FROM unnest({', '.join(arrays)}) WITH ORDINALITY"

    def table(self, found: Iterable[Row], kinds: Sequence[str]) -> str:
        """Add rows, and return them as the table ``new``, with the columns c0, c1 and so on, and n."""
        return f"({self.rows(found, kinds)}) AS new ({column_list(0, len(kinds) - 1)}, n)"


def _array(values: Iterable[Any]) -> str:
    """Format an array for PostgreSQL: https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO."""
    return f"{{{','.join(map(_element, values))}}}"


def _element(value: str | float | bytes | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f'"\\\\x{value.hex()}"'
    if isinstance(value, str):
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{quoted}"'
    return str(value)


def column_list(first: int, last: int) -> str:
    """Return the names of the columns of rows: c0, c1, …"""
    return ", ".join(f"c{number}" for number in range(first, last + 1))


def combine_statements(parts: Mapping[str, str], last: str) -> str:
    """Combine several statements into one, which is one transaction and one round trip."""
    return f"WITH {', '.join(f'{name} AS ({part})' for name, part in parts.items())} {last}"


def index_expression(*columns: str) -> str:
    """Return the expressions that an index has for columns of names."""
    return ", ".join(f"left({column}, {_INDEXED_CHARACTERS})" for column in columns)


def unclaimed(holder: str, until: str) -> str:
    """Return the SQL condition that no process holds the claim in these two columns."""
    return f"({holder} IS NULL OR {until} <= clock_timestamp())"


def now_plus(seconds: str) -> str:
    """Return the expression for the time in the given number of seconds."""
    return f"clock_timestamp() + {seconds}::float8 * interval '1 second'"
