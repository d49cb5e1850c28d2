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
"""As `rows.ASK_COLUMNS`, but for the first, which `rows.ask_from_row` does not look at."""
LOAD_COLUMNS: Final = f"{COLUMNS}, (SELECT request FROM requests WHERE seq = asks.seq)"
"""The columns that `parse_row` takes."""
_MOST_TOLD: Final = 10_000
"""Rows that are logged as unreadable, at the most."""
_ENTRY: Final = ("text", "float8", "text", "text")
_SEARCHED: Final = "status, surface, channel, thread_id, due, message, thread"
_STEPPED: Final = "revision, updated_at, shown_revision, state"
WRITE_COLUMNS: Final = f"{_SEARCHED}, message_id, {_STEPPED}"
"""The columns of `ask_columns`."""
WRITE_COLUMN_TYPES: Final = (
    *("text", "text", "text", "text", "float8", "text", "text", "text"),
    *("bigint", "float8", "bigint", "text"),
)


class VersionedAsk(NamedTuple):
    """An ask and the version of its row, which a write compares."""

    version: int
    ask: Ask


def unique_hash(*names: str) -> bytes:
    """What a key of these names is unique by."""
    return sha256(rows.dump(list(names)).encode()).digest()


def message_id(message: Mapping[str, JsonValue] | None) -> str | None:
    """The id by which an ask is found when its live message is deleted."""
    found = (message or {}).get("id")
    return found if isinstance(found, str) else None


def ask_columns(ask: Ask) -> rows.Row:
    """The columns of `WRITE_COLUMNS`."""
    return (
        *rows.lookup_columns(ask),
        message_id(ask.message),
        *(ask.revision, ask.updated_at, ask.shown_revision, rows.dump_state(ask)),
    )


def parse_row(
    cache: rows.RequestCache, row: rows.Row, request: Request | None = None
) -> VersionedAsk:
    """The ask of a row of `COLUMNS` and its request's text (not looked at where the request is given).

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
    """The rows that `parse_row` takes."""
    return (
        f"SELECT {COLUMNS}, (SELECT request FROM requests WHERE seq = asks.seq) FROM asks {where}"
    )


async def load(database: Database, cache: rows.RequestCache, ask_id: str) -> Ask | None:
    """The ask as it stands."""
    found = await database.read(load_statement("WHERE id = $1"), (ask_id,))
    return parse_row(cache, found[0]).ask if found else None


def read_valid_rows(
    told: set[tuple[str, str]],
    table: str,
    found: Iterable[tuple[str, rows.Row]],
    read: Callable[[rows.Row], T],
) -> list[T]:
    """What ``read`` gives for rows, by their ids; one that cannot be read is left out, and logged once."""
    result = []
    for name, row in found:
        try:
            result.append(read(row))
        except (UnreadableRowError, ValueError) as error:
            if (table, name) not in told and len(told) < _MOST_TOLD:
                told.add((table, name))
                why = error if isinstance(error, UnreadableRowError) else type(error).__name__
                extra = {"action": "unreadable", "table": table, "id": name}
                logger.error("A row cannot be read and is left out: %s", why, extra=extra)  # noqa: TRY400
    return result


def record_lines(given: Parameters, lines: Sequence[rows.Row], those: str | None = None) -> str:
    """The part of a statement that adds lines to the record; with ``those``, of the asks whose ids it has."""
    join = "" if those is None else f"JOIN {those} ON id = a"
    return f"""INSERT INTO record (ask_id, at, kind, entry) SELECT a, b, c, d
        FROM ({given.rows(lines, _ENTRY)}) AS line (a, b, c, d, n) {join} ORDER BY n"""


async def add_entry(database: Database, ask_id: str | None, entry: RecordEntry) -> None:
    """Adds a line to the record."""
    given = Parameters()
    await database.write(record_lines(given, rows.entry_rows(ask_id, [entry])), given.values)


async def record(database: Database, ask_id: str, after: int, limit: int) -> list[StoredEntry]:
    """The record of an ask behind a number, oldest first."""
    found = await database.read(
        "SELECT seq, at, entry FROM record WHERE ask_id = $1 AND seq > $2 ORDER BY seq LIMIT $3",
        (ask_id, after, limit),
    )
    return [
        StoredEntry(seq, rows.entry_from_json(ask_id, seq, at, text.encode()))
        for seq, at, text in found
    ]


class Reader:
    """Asks by what they have in common; those that cannot be read are left out."""

    def __init__(self, database: Database, cache: rows.RequestCache) -> None:
        self._database = database
        self.cache = cache
        self.told: set[tuple[str, str]] = set()
        """The rows that were logged as unreadable, by table and id."""

    async def find(
        self, place: tuple[str, str, str | None], limit: int, after: str | None
    ) -> list[Ask]:
        """The open asks at (surface, channel, thread; None: anywhere in the channel), newest first."""
        filters = dict(zip(("surface", "channel", "thread_id"), place, strict=True))
        before = 2**63 - 1
        if after is not None:
            found = await self._database.read("SELECT seq FROM asks WHERE id = $1", (after,))
            before = found[0][0] if found else 0
        asks: list[Ask] = []
        while len(asks) < limit:
            part, before = await self._part(
                "status = 'open' AND", filters, (before, limit - len(asks))
            )
            asks += part
            if not before:
                break
        return asks

    async def page(self, filters: dict[str, str | None], after: int, limit: int) -> Page[Ask]:
        """Asks whose columns have these values (None: any), newest first, behind row ``after``."""
        asks, before = await self._part("", filters, (after, limit))
        return Page(tuple(asks), rows.cursor("asks", before) if before else None)

    async def _part(
        self, where: str, filters: dict[str, str | None], span: tuple[int, int]
    ) -> tuple[list[Ask], int]:
        """Asks behind a row, so many, and the row to go on behind; 0: there are no more."""
        before, limit = span
        given = Parameters()
        terms = f"{where} {equality_conditions(given, filters)} seq < {given.add(before, 'bigint')}"
        found = await self._database.read(
            f"SELECT seq, {load_statement(f'WHERE {terms} ORDER BY seq DESC LIMIT {limit + 1}')[7:]}",
            given.values,
        )
        part = [(row[2], row[1:]) for row in found[:limit]]
        asks = read_valid_rows(self.told, "asks", part, lambda row: parse_row(self.cache, row).ask)
        return asks, found[limit - 1][0] if len(found) > limit else 0

    async def shown_at(self, surface: str, message_id: str) -> Ask | None:
        """The open ask whose message on a surface has this id."""
        given = Parameters()
        terms = equality_conditions(given, {"surface": surface, "message_id": message_id})
        found = await self._database.read(
            load_statement(f"WHERE {terms} status = 'open' AND message_id IS NOT NULL LIMIT 1"),
            given.values,
        )
        return parse_row(self.cache, found[0]).ask if found else None
