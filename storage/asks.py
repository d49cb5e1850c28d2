"""The statements about asks and their record, on a connection inside a transaction of the caller's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from bot.ask import Ask, Entry
from bot.stored import Existing, Idempotency, Page, StoredEntry
from storage import rows

_LOAD: Final = f"SELECT {rows.ASK_COLUMNS} FROM asks WHERE id = ?"
_INSERT: Final = """INSERT INTO asks (seq, id, created_at, conversation, agent, status, surface,
    channel, thread_id, due, message, thread, revision, updated_at, shown_revision, state)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_MOVE: Final = """UPDATE asks SET status = ?, surface = ?, channel = ?, thread_id = ?, due = ?,
    message = ?, thread = ?, revision = ?, updated_at = ?, shown_revision = ?, state = ?
    WHERE id = ? AND revision = ?"""


def load(db: sqlite3.Connection, cache: rows.RequestCache, ask_id: str) -> Ask | None:
    """The ask as it stands."""
    row = db.execute(_LOAD, (ask_id,)).fetchone()
    return None if row is None else ask(db, cache, row)


def ask(db: sqlite3.Connection, cache: rows.RequestCache, row: rows.Row) -> Ask:
    """The ask of a row of `rows.ASK_COLUMNS`."""

    def read() -> str:
        found = db.execute("SELECT request FROM requests WHERE seq = ?", row[:1]).fetchone()
        if found is None:
            raise rows.unreadable(row[1])
        text: str = found[0]
        return text

    try:
        request = cache.get(row[0], read)
    except ValueError as error:
        raise rows.unreadable(row[1], error) from error
    return rows.ask_of(row, request)


def insert(db: sqlite3.Connection, new: Ask) -> None:
    """Stores a new ask."""
    request = new.request
    seq = db.execute(
        "INSERT INTO requests (request) VALUES (?)", (rows.dump_request(request),)
    ).lastrowid
    named = (seq, new.id, new.created_at, request.conversation, request.agent)
    db.execute(_INSERT, (*named, *rows.searched_columns(new), *_stepped(new)))


def existing(
    db: sqlite3.Connection, cache: rows.RequestCache, idempotency: Idempotency
) -> Existing | None:
    """What an idempotency key stored before, as it stands."""
    found = db.execute(
        "SELECT ask_id, digest FROM idempotency WHERE agent = ? AND key = ?",
        (idempotency.agent, idempotency.key),
    ).fetchone()
    first = None if found is None else load(db, cache, found[0])
    return None if first is None else Existing(first, found[1] == idempotency.digest)


def note_key(db: sqlite3.Connection, idempotency: Idempotency, new: Ask) -> None:
    """Notes the idempotency key that a new ask was submitted with."""
    db.execute(
        "INSERT INTO idempotency (agent, key, digest, ask_id, at) VALUES (?, ?, ?, ?, ?)",
        (idempotency.agent, idempotency.key, idempotency.digest, new.id, new.created_at),
    )


def update(db: sqlite3.Connection, old: Ask, new: Ask) -> None:
    """Stores what became of ``old``, which this transaction has read, with all its columns."""
    values = (*rows.searched_columns(new), *_stepped(new), old.id, old.revision)
    if db.execute(_MOVE, values).rowcount != 1:
        raise AssertionError(f"{old.id} is not at revision {old.revision} in its own transaction")


def _stepped(new: Ask) -> rows.Row:
    return new.revision, new.updated_at, new.shown_revision, rows.state(new)


def add_entries(db: sqlite3.Connection, entries: Iterable[tuple[str | None, Entry]]) -> None:
    """Adds lines to the record."""
    db.executemany(
        "INSERT INTO record (ask_id, at, kind, entry) VALUES (?, ?, ?, ?)",
        [row for ask_id, entry in entries for row in rows.entry_rows(ask_id, [entry])],
    )


def record(db: sqlite3.Connection, ask_id: str, after: int, limit: int) -> list[StoredEntry]:
    """The record of an ask behind a number, oldest first."""
    found = db.execute(
        "SELECT seq, entry FROM record WHERE ask_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        (ask_id, after, limit),
    )
    return [StoredEntry(seq, rows.entry_of(entry)) for seq, entry in found]


def find(
    db: sqlite3.Connection,
    cache: rows.RequestCache,
    place: tuple[str, str, str | None],
    span: tuple[int, str | None],
) -> list[Ask]:
    """The open asks at (surface, channel, thread; None: anywhere in the channel), newest first.

    ``span`` is how many at the most, and the ask that they are older than (None: all of them).
    """
    (surface, channel, thread), (limit, after) = place, span
    named = {
        "AND thread_id = ?": thread,
        "AND seq < (SELECT seq FROM asks WHERE id = ?)": after,
    }
    where = " ".join(term for term, value in named.items() if value is not None)
    values = [value for value in named.values() if value is not None]
    found = db.execute(
        f"SELECT {rows.ASK_COLUMNS} FROM asks WHERE status = 'open' AND surface = ?"
        f" AND channel = ? {where} ORDER BY seq DESC LIMIT ?",
        (surface, channel, *values, limit),
    ).fetchall()
    return [ask(db, cache, row) for row in found]


_SHOWN_AT: Final = f"""SELECT {rows.ASK_COLUMNS} FROM asks
    WHERE status = 'open' AND message IS NOT NULL AND surface = ? AND json_extract(message, '$.id') = ?"""


def shown_at(
    db: sqlite3.Connection, cache: rows.RequestCache, message: tuple[str, str]
) -> Ask | None:
    """The open ask whose message on a surface has this id."""
    row = db.execute(_SHOWN_AT, message).fetchone()
    return None if row is None else ask(db, cache, row)


def page(
    db: sqlite3.Connection,
    cache: rows.RequestCache,
    filters: dict[str, str | None],
    after: int,
    limit: int,
) -> Page[Ask]:
    """Asks whose columns have these values (None: any), newest first, behind row ``after``."""
    found, cursor = newest_first(db, "asks", rows.ASK_COLUMNS, filters, (after, limit))
    return Page(tuple(ask(db, cache, row) for row in found), cursor)


def newest_first(
    db: sqlite3.Connection,
    table: str,
    columns: str,
    filters: dict[str, str | None],
    span: tuple[int, int],
) -> tuple[Sequence[rows.Row], str | None]:
    """Rows of a table behind a row, as many as a page takes, and the cursor of the next page."""
    after, limit = span
    named = {name: value for name, value in filters.items() if value is not None}
    where = "".join(f"{name} = ? AND " for name in named)
    found = db.execute(
        f"SELECT seq, {columns} FROM {table} WHERE {where}seq < ? ORDER BY seq DESC LIMIT ?",
        (*named.values(), after, limit + 1),
    ).fetchall()
    more = len(found) > limit
    found = found[:limit]
    return [row[1:] for row in found], rows.cursor(table, found[-1][0]) if more else None


_BEHIND: Final = """SELECT id FROM (SELECT id, updated_at, row_number() OVER (
        PARTITION BY surface, channel, message IS NULL ORDER BY updated_at
    ) AS turn FROM asks WHERE shown_revision < revision) ORDER BY turn, updated_at LIMIT ?"""


def behind(db: sqlite3.Connection, limit: int) -> list[str]:
    """Ids of asks whose message shows an older revision, oldest change first, all places in turn."""
    return [ask_id for (ask_id,) in db.execute(_BEHIND, (limit,))]


def due(db: sqlite3.Connection, now: float, limit: int) -> list[str]:
    """Ids of asks for which the clock has something to do, earliest first."""
    found = db.execute("SELECT id FROM asks WHERE due <= ? ORDER BY due LIMIT ?", (now, limit))
    return [ask_id for (ask_id,) in found]


def next_due(db: sqlite3.Connection, after: float) -> float | None:
    """When the clock has something to do next."""
    when: float | None
    (when,) = db.execute("SELECT min(due) FROM asks WHERE due > ?", (after,)).fetchone()
    return when
