"""The statements about asks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Final, NamedTuple, TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask, Request
from answerback.core.errors import UnreadableRowError
from answerback_storage import rows
from answerback_storage.base_store import Filters
from answerback_storage.postgres.connections import Database
from answerback_storage.postgres.database import PostgresDatabase
from answerback_storage.postgres.sql import Parameters, equality_conditions

logger = logging.getLogger(__name__)

T = TypeVar("T")

COLUMNS: Final = "version, id, revision, shown_revision, message, thread, state"
"""Like `rows.ASK_COLUMNS` except for the first column, which `rows.ask_from_row` ignores."""
LOAD_COLUMNS: Final = f"{COLUMNS}, (SELECT request FROM requests WHERE seq = asks.seq)"
"""The columns that `parse_row` takes."""
_MAX_LOGGED: Final = 10_000
"""The most rows that are logged as unreadable."""
_LOOKUP_COLUMNS: Final = (
    "status, surface, channel, thread_id, due, message, thread, left_channel, left_until"
)
_STEP_COLUMNS: Final = "revision, updated_at, shown_revision, state"
WRITE_COLUMNS: Final = f"{_LOOKUP_COLUMNS}, message_id, {_STEP_COLUMNS}"
"""The columns that `ask_columns` returns."""
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
        message_id(ask.message),
        *(ask.revision, ask.updated_at, ask.shown_revision, rows.dump_state(ask)),
    )


def parse_row(
    cache: rows.RequestCache, row: rows.Row, request: Request | None = None
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
        request = request or cache.get(row[1], read)
    except ValueError as error:
        raise rows.unreadable_ask_error(row[1], error) from error
    return VersionedAsk(row[0], rows.ask_from_row(tuple(columns), request))


def load_statement(where: str) -> str:
    """Build the statement that selects the rows for `parse_row`."""
    return f"SELECT {LOAD_COLUMNS} FROM asks {where}"


async def load(database: Database, cache: rows.RequestCache, ask_id: str) -> Ask | None:
    """Return the current state of an ask."""
    found = await database.read(load_statement("WHERE id = $1"), (ask_id,))
    return parse_row(cache, found[0]).ask if found else None


def read_valid_rows(
    logged: set[tuple[str, str]],
    table: str,
    found: Iterable[tuple[str, rows.Row]],
    read: Callable[[rows.Row], T],
) -> list[T]:
    """Return what ``read`` returns for rows, given with their ids.

    A row that cannot be read is skipped, and logged once.
    """
    result = []
    for name, row in found:
        try:
            result.append(read(row))
        except (UnreadableRowError, ValueError) as error:
            if (table, name) not in logged and len(logged) < _MAX_LOGGED:
                logged.add((table, name))
                why = error if isinstance(error, UnreadableRowError) else type(error).__name__
                extra = {"action": "unreadable", "table": table, "id": name}
                logger.error("A stored row cannot be read and is skipped: %s", why, extra=extra)  # noqa: TRY400
    return result


def read_valid(db: PostgresDatabase, found: Iterable[rows.Row]) -> list[Ask]:
    """Return the asks of rows of `LOAD_COLUMNS`, without those that cannot be read."""
    named = [(row[1], row) for row in found]
    return read_valid_rows(
        db.logged_rows, "asks", named, lambda row: parse_row(db.requests, row).ask
    )


async def read_newest_first(
    db: PostgresDatabase, filters: Filters, span: tuple[int, int], where: str = ""
) -> tuple[list[Ask], int]:
    """Return the asks after a row, up to a limit, and the row to continue after, or 0 if there are no more."""
    before, limit = span
    params = Parameters()
    terms = f"{where} {equality_conditions(params, filters)} seq < {params.add(before, 'bigint')}"
    statement = (
        f"SELECT seq, {LOAD_COLUMNS} FROM asks WHERE {terms} ORDER BY seq DESC LIMIT {limit + 1}"
    )
    found = await db.connections.read(statement, params.values)
    last = found[limit - 1][0] if len(found) > limit else 0
    return read_valid(db, [row[1:] for row in found[:limit]]), last
