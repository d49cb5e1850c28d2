"""The statements about asks and their record."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple, TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask, RecordEntry, Request
from answerback.core.errors import UnreadableRowError
from answerback.ports.store_values import Page, StoredEntry
from answerback_storage import rows
from answerback_storage.postgres.connections import Database
from answerback_storage.postgres.sql import Parameters, equality_conditions

logger = logging.getLogger(__name__)

T = TypeVar("T")

COLUMNS: Final = "version, id, revision, shown_revision, message, thread, state"
"""Like `rows.ASK_COLUMNS` except for the first column, which `rows.ask_from_row` ignores."""
LOAD_COLUMNS: Final = f"{COLUMNS}, (SELECT request FROM requests WHERE seq = asks.seq)"
"""The columns that `parse_row` takes."""
_MAX_LOGGED: Final = 10_000
"""The most rows that are logged as unreadable."""
_ENTRY: Final = ("text", "float8", "text", "text")
_LOOKUP_COLUMNS: Final = "status, surface, channel, thread_id, due, message, thread"
_STEP_COLUMNS: Final = "revision, updated_at, shown_revision, state"
WRITE_COLUMNS: Final = f"{_LOOKUP_COLUMNS}, message_id, {_STEP_COLUMNS}"
"""The columns that `ask_columns` returns."""
WRITE_COLUMN_TYPES: Final = (
    *("text", "text", "text", "text", "float8", "text", "text", "text"),
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
    return (
        f"SELECT {COLUMNS}, (SELECT request FROM requests WHERE seq = asks.seq) FROM asks {where}"
    )


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


def record_lines(params: Parameters, lines: Sequence[rows.Row], of_asks: str | None = None) -> str:
    """Build the part of a statement that adds lines to the record; with ``of_asks``, only for the ids in that query."""
    join = "" if of_asks is None else f"JOIN {of_asks} ON id = a"
    return f"""INSERT INTO record (ask_id, at, kind, entry) SELECT a, b, c, d
        FROM ({params.rows(lines, _ENTRY)}) AS line (a, b, c, d, n) {join} ORDER BY n"""


async def add_entry(database: Database, ask_id: str | None, entry: RecordEntry) -> None:
    """Append an entry to the record."""
    params = Parameters()
    await database.write(record_lines(params, rows.entry_rows(ask_id, [entry])), params.values)


async def record(database: Database, ask_id: str, after: int, limit: int) -> list[StoredEntry]:
    """Return the entries of an ask after a line number, oldest first."""
    found = await database.read(
        "SELECT seq, at, entry FROM record WHERE ask_id = $1 AND seq > $2 ORDER BY seq LIMIT $3",
        (ask_id, after, limit),
    )
    return [
        StoredEntry(seq, rows.entry_from_json(ask_id, seq, at, text.encode()))
        for seq, at, text in found
    ]


def _place_filters(place: tuple[str, str, str | None]) -> dict[str, str | None]:
    return dict(zip(("surface", "channel", "thread_id"), place, strict=True))


class Reader:
    """Reads lists of asks, skipping those that cannot be read."""

    def __init__(self, database: Database, cache: rows.RequestCache) -> None:
        self._database = database
        self.cache = cache
        self.logged_rows: set[tuple[str, str]] = set()
        """The rows that were already logged as unreadable, by table and id."""

    async def find_open(
        self, place: tuple[str, str, str | None], limit: int, after: str | None
    ) -> list[Ask]:
        """Return the open asks at (surface, channel, thread; None: anywhere in the channel), newest first."""
        filters = _place_filters(place)
        before = 2**63 - 1
        if after is not None:
            found = await self._database.read("SELECT seq FROM asks WHERE id = $1", (after,))
            before = found[0][0] if found else 0
        asks: list[Ask] = []
        while len(asks) < limit:
            part, before = await self._read_part(
                "status = 'open' AND", filters, (before, limit - len(asks))
            )
            asks += part
            if not before:
                break
        return asks

    async def find_ended(
        self, place: tuple[str, str, str | None], since: float, limit: int
    ) -> list[Ask]:
        """Return the asks at a place like that of `find_open` that ended since a time, latest end first."""
        params = Parameters()
        where = (
            f"WHERE {equality_conditions(params, _place_filters(place))} erased_at IS NULL"
            f" AND settled_at >= {params.add(since, 'float8')} ORDER BY settled_at DESC LIMIT {limit}"
        )
        found = await self._database.read(load_statement(where), params.values)
        return self._read_valid(found)

    async def page(self, filters: dict[str, str | None], after: int, limit: int) -> Page[Ask]:
        """Return a page of the asks whose columns have these values (None: any), newest first, after row ``after``."""
        asks, before = await self._read_part("", filters, (after, limit))
        return Page(tuple(asks), rows.cursor("asks", before) if before else None)

    async def _read_part(
        self, where: str, filters: dict[str, str | None], span: tuple[int, int]
    ) -> tuple[list[Ask], int]:
        """Return the asks after a row, up to a limit, and the row to continue after, or 0 if there are no more."""
        before, limit = span
        params = Parameters()
        terms = (
            f"{where} {equality_conditions(params, filters)} seq < {params.add(before, 'bigint')}"
        )
        found = await self._database.read(
            f"SELECT seq, {load_statement(f'WHERE {terms} ORDER BY seq DESC LIMIT {limit + 1}')[7:]}",
            params.values,
        )
        return self._read_valid([row[1:] for row in found[:limit]]), found[limit - 1][0] if len(
            found
        ) > limit else 0

    def _read_valid(self, found: Sequence[rows.Row]) -> list[Ask]:
        """Return the asks of these rows of `LOAD_COLUMNS`, without those that cannot be read."""
        named = [(row[1], row) for row in found]
        return read_valid_rows(
            self.logged_rows, "asks", named, lambda row: parse_row(self.cache, row).ask
        )

    async def find_by_message(self, surface: str, message_id: str) -> Ask | None:
        """Return the open ask whose message on a surface has this id."""
        params = Parameters()
        terms = equality_conditions(params, {"surface": surface, "message_id": message_id})
        found = await self._database.read(
            load_statement(f"WHERE {terms} status = 'open' AND message_id IS NOT NULL LIMIT 1"),
            params.values,
        )
        return parse_row(self.cache, found[0]).ask if found else None
