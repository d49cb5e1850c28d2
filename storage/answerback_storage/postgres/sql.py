"""How statements are put together: numbered values, rows of them, several statements as one.

Rows are an array for each column, so that a statement reads the same for one row and for fifty: the server parses and
plans it once for each connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from answerback_storage.rows import Row

_INDEXED: Final = 128
"""Characters of a name that an index holds: an entry has at most 2,704 bytes, and names can be longer."""


class Parameters:
    """The values of a statement, numbered as they come."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def add(self, value: Any, kind: str = "text") -> str:
        """How the statement refers to a value."""
        self.values.append(value)
        return f"${len(self.values)}::{kind}"

    def row(self, row: Row, kinds: Sequence[str]) -> str:
        """How the statement refers to several values, each of its type."""
        first = len(self.values) + 1
        self.values += row
        return ", ".join(f"${number}::{kind}" for number, kind in enumerate(kinds, first))

    def rows(self, found: Iterable[Row], kinds: Sequence[str]) -> str:
        """Rows as the statement selects them, each with its number behind its columns."""
        columns = list(zip(*found, strict=True)) or [()] * len(kinds)
        arrays = (
            self.add(_array(values), f"{kind}[]")
            for values, kind in zip(columns, kinds, strict=True)
        )
        return f"SELECT * FROM unnest({', '.join(arrays)}) WITH ORDINALITY"


def _array(values: Iterable[Any]) -> str:
    """An array as PostgreSQL reads it: https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO."""
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
    """The names of columns of rows: c0, c1, …"""
    return ", ".join(f"c{number}" for number in range(first, last + 1))


def combine_statements(parts: Mapping[str, str], last: str) -> str:
    """Several statements as one, which is one transaction and one round trip."""
    return f"WITH {', '.join(f'{name} AS ({part})' for name, part in parts.items())} {last}"


def index_expression(column: str) -> str:
    """What of a column that holds names is in an index."""
    return f"left({column}, {_INDEXED})"


def equality_conditions(given: Parameters, filters: Mapping[str, str | None]) -> str:
    """The conditions that columns have these values (None: any), as the indexes on them have it."""
    terms = []
    for name, value in filters.items():
        if value is None:
            continue
        wanted = given.add(value)
        if name not in {"status", "state"}:
            terms.append(f"{index_expression(name)} = {index_expression(wanted)} AND ")
        terms.append(f"{name} = {wanted} AND ")
    return "".join(terms)


def unclaimed(holder: str, until: str) -> str:
    """The condition that nobody holds what these two columns are about."""
    return f"({holder} IS NULL OR {until} <= clock_timestamp())"


def now_plus(seconds: str) -> str:
    """The time in so many seconds."""
    return f"clock_timestamp() + {seconds}::float8 * interval '1 second'"
