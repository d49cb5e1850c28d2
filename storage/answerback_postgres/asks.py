"""The statements about asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.ask import Ask, Request
from answerback_postgres.connections import Database
from answerback_postgres.sql import Parameters
from answerback_storage import rows

COLUMNS: Final = "version, id, revision, shown_revision, message, thread, state"
"""Like `rows.ASK_COLUMNS` except for the first column, which `rows.ask_from_row` ignores."""
LOAD_COLUMNS: Final = f"{COLUMNS}, (SELECT request FROM requests WHERE seq = asks.seq)"
"""The columns that `parse_row` takes."""
_LINE_TYPES: Final = ("text", "float8", "text", "text")
_LOOKUP_COLUMNS: Final = (
    "status, surface, channel, thread_id, due, message, thread, left_channel, left_until"
)
_STEP_COLUMNS: Final = "revision, updated_at, shown_revision, state"
WRITE_COLUMNS: Final = f"{_LOOKUP_COLUMNS}, message_id, {_STEP_COLUMNS}"
WRITE_COLUMN_TYPES: Final = (
    *("text", "text", "text", "text", "float8", "text", "text", "text", "float8", "text"),
    *("bigint", "float8", "bigint", "text"),
)


class VersionedAsk(NamedTuple):
    """An ask and the version of its row, which writes compare."""

    version: int
    ask: Ask


def unique_hash(*names: str) -> bytes:
    """Return the hash that makes a key of these names unique."""
    return sha256(rows.dump(list(names)).encode()).digest()


def message_id(message: Mapping[str, JsonValue] | None) -> str | None:
    """Return the id by which an ask is found when its live message is deleted."""
    found = (message or {}).get("id")
    return found if isinstance(found, str) else None


def ask_columns(ask: Ask) -> rows.Row:
    """Return the values of `WRITE_COLUMNS`."""
    return (
        *rows.lookup_columns(ask),
        message_id(ask.placement.message),
        *(ask.revision, ask.updated_at, ask.placement.shown_revision, rows.dump_state(ask)),
    )


def parse_row(
    cache: rows.RequestCache,
    row: rows.Row,
    request: Request | None = None,
    *,
    changes: bool = True,
) -> VersionedAsk:
    """Build the ask of a row of `COLUMNS` plus the text of its request (ignored if ``request`` is given).

    Raises:
        UnreadableRowError: this version cannot read it.
    """
    *columns, text = row

    def read() -> str:
        if text is None:
            raise rows.unreadable_ask_error(row[1])
        return str(text)

    try:
        request = request or cache.get(row[1], read, changes=changes)
    except ValueError as error:
        raise rows.unreadable_ask_error(row[1], error) from error
    return VersionedAsk(row[0], rows.ask_from_row(tuple(columns), request))


def load_statement(where: str) -> str:
    """Build the statement that selects the rows for `parse_row`."""
    return f"SELECT {LOAD_COLUMNS} FROM asks {where}"


async def load(database: Database, cache: rows.RequestCache, ask_id: str) -> Ask | None:
    found = await database.read(load_statement("WHERE id = $1"), (ask_id,))
    return parse_row(cache, found[0], changes=False).ask if found else None


def insert_lines(params: Parameters, lines: Sequence[rows.Row], of_asks: str | None = None) -> str:
    """Build the part of a statement that adds lines to the record; with ``of_asks``, only for the ids in that query."""
    join = "" if of_asks is None else f"JOIN {of_asks} ON id = c0"
    return f"""INSERT INTO record (ask_id, at, kind, entry) SELECT c0, c1, c2, c3
        FROM {params.table(lines, _LINE_TYPES)} {join} ORDER BY n"""
