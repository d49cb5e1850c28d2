"""The statements about asks, and their words in the full-text index. They run inside the caller's transaction.

An ask has two rows in the index (https://www.sqlite.org/fts5.html): the words of the questions at twice its own number,
and the words of the answers right after. Nothing is written twice, and a click in the middle of a form writes nothing.
A trigger deletes both rows when the request is erased.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from answerback.core.ask import Ask, RecordEntry, Request
from answerback.core.errors import UnreadableRowError
from answerback.ports.claims import Claim
from answerback.ports.search import answer_words, question_words
from answerback.ports.store_values import Existing, Idempotency
from answerback_storage import rows
from answerback_storage.base_store import Filters
from answerback_storage.sqlite import claim_statements as claims

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_LOGGED: Final = 10_000
"""The most rows that are logged as unreadable."""
_LOAD: Final = f"SELECT {rows.ASK_COLUMNS}, show_holder, show_until FROM asks WHERE id = ?"
_LOAD_ROW: Final = f"SELECT {rows.ASK_COLUMNS} FROM asks WHERE seq = ?"
_INSERT: Final = """INSERT INTO asks (seq, id, created_at, conversation, agent, status, surface,
    channel, thread_id, due, message, thread, left_channel, left_until, revision, updated_at, shown_revision, state,
    show_holder, show_until)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_ADD_LINE: Final = """INSERT INTO record (ask_id, at, kind, entry, before)
    VALUES (?1, ?2, ?3, ?4, (SELECT last_line FROM asks WHERE id = ?1)) RETURNING seq"""
_MERGE_PAGES: Final = 200
"""Pages of the full-text index that are merged in one step."""
_UPDATE: Final = f"""UPDATE asks SET status = ?1, surface = ?2, channel = ?3, thread_id = ?4, due = ?5,
    message = ?6, thread = ?7, left_channel = ?8, left_until = ?9, revision = ?10, updated_at = ?11,
    shown_revision = ?12, state = ?13, due_holder = CASE WHEN due IS ?5 THEN due_holder END,
    {claims.claim_assignments(revision="?10", shown="?12", holder="?16", now="?17", until="?18")}
    WHERE id = ?14 AND revision = ?15"""


def load(db: sqlite3.Connection, cache: rows.RequestCache, ask_id: str) -> Ask | None:
    """Return the current state of an ask."""
    return load_with_claim(db, cache, ask_id)[0]


def load_with_claim(
    db: sqlite3.Connection, cache: rows.RequestCache, ask_id: str
) -> tuple[Ask | None, str | None, float]:
    """Return the current state of an ask, the holder of its message's claim, and when that claim ends."""
    try:
        row = db.execute(_LOAD, (ask_id,)).fetchone()
        return (None, None, 0.0) if row is None else (ask(db, cache, row[:-2]), *row[-2:])
    except sqlite3.Error as error:
        if rows.concerns_one_row(error):
            raise rows.unreadable_ask_error(ask_id, error) from None  # the error quotes the row
        raise


def revisions(db: sqlite3.Connection, ask_ids: list[str]) -> list[tuple[str, int]]:
    """Return the revisions of asks."""
    wanted = rows.dump([*ask_ids])
    return db.execute(
        "SELECT id, revision FROM asks WHERE id IN (SELECT value FROM json_each(?))", (wanted,)
    ).fetchall()


def load_many(
    db: sqlite3.Connection, cache: rows.RequestCache, seqs: Iterable[int]
) -> Iterator[Ask]:
    """Yield the asks of these rows, skipping those that cannot be read."""

    def read(seq: int) -> Ask:
        return ask(db, cache, db.execute(_LOAD_ROW, (seq,)).fetchone())

    return read_valid_rows(db, cache.logged_rows, ("asks", seqs), read)


def read_valid_rows(
    db: sqlite3.Connection,
    logged: set[tuple[str, int]],
    rows_of: tuple[str, Iterable[int]],
    read: Callable[[int], T],
) -> Iterator[T]:
    """Yield what ``read`` returns for rows of a table. A row that cannot be read is skipped, and logged once.

    Args:
        logged: the rows that were logged before.
        rows_of: the table and the rows' numbers.
    """
    table, seqs = rows_of
    for seq in seqs:
        try:
            yield read(seq)
        except (UnreadableRowError, ValueError, sqlite3.Error) as error:
            if isinstance(error, sqlite3.Error) and not rows.concerns_one_row(error):
                raise
            if (table, seq) not in logged and len(logged) < _MAX_LOGGED:
                logged.add((table, seq))
                _log_unreadable(db, table, seq, error)


def _log_unreadable(db: sqlite3.Connection, table: str, seq: int, error: Exception) -> None:
    (name,) = db.execute(f"SELECT CAST(id AS BLOB) FROM {table} WHERE seq = ?", (seq,)).fetchone()
    why = error if isinstance(error, UnreadableRowError) else type(error).__name__
    extra = {"action": "unreadable", "table": table, "id": name.decode(errors="replace")}
    logger.error("A stored row cannot be read and is skipped: %s", why, extra=extra)


def ask(db: sqlite3.Connection, cache: rows.RequestCache, row: rows.Row) -> Ask:
    """Build the ask of a row of `rows.ASK_COLUMNS`."""

    def read() -> str:
        found = db.execute("SELECT request FROM requests WHERE seq = ?", row[:1]).fetchone()
        if found is None:
            raise rows.unreadable_ask_error(row[1])
        text: str = found[0]
        return text

    try:
        request = cache.get(row[0], read)
    except ValueError as error:
        raise rows.unreadable_ask_error(row[1], error) from error
    except sqlite3.Error as error:
        if rows.concerns_one_row(error):
            raise rows.unreadable_ask_error(row[1], error) from None
        raise
    return rows.ask_from_row(row, request)


def insert(db: sqlite3.Connection, new: Ask, claim: Claim | None) -> None:
    """Store a new ask, and claim its message if it is to be shown."""
    request = new.request
    (seq,) = db.execute(
        "INSERT INTO requests (request) VALUES (?) RETURNING seq", (rows.dump_request(request),)
    ).fetchone()
    identity = (seq, new.id, new.created_at, request.conversation, request.agent)
    behind = new.shown_revision < new.revision
    holder, _, until = rows.claim_row(claim if behind else None)
    db.execute(
        _INSERT, (*identity, *rows.lookup_columns(new), *rows.step_columns(new), holder, until)
    )
    index_words(db, seq, new)


def find_created(
    db: sqlite3.Connection, cache: rows.RequestCache, idempotency: Idempotency
) -> Existing | None:
    """Return the current state of the ask that an idempotency key stored before, or None."""
    found = db.execute(
        "SELECT ask_id, digest FROM idempotency WHERE agent = ? AND key = ?",
        (idempotency.agent, idempotency.key),
    ).fetchone()
    stored_ask = None if found is None else load(db, cache, found[0])
    return None if stored_ask is None else Existing(stored_ask, found[1] == idempotency.digest)


def insert_idempotency_key(db: sqlite3.Connection, idempotency: Idempotency, new: Ask) -> None:
    """Record the idempotency key that a new ask was submitted with."""
    db.execute(
        "INSERT INTO idempotency (agent, key, digest, ask_id, at) VALUES (?, ?, ?, ?, ?)",
        (idempotency.agent, idempotency.key, idempotency.digest, new.id, new.created_at),
    )


def update(db: sqlite3.Connection, old: Ask, new: Ask, claim: Claim | None = None) -> None:
    """Store the new state of ``old``, which this transaction has read, with all its columns."""
    at = (old.id, old.revision)
    values = (*rows.lookup_columns(new), *rows.step_columns(new), *at, *rows.claim_row(claim))
    if db.execute(_UPDATE, values).rowcount != 1:
        raise AssertionError(f"{old.id} is not at revision {old.revision} in its own transaction")
    if old.open and not new.open:
        _index_answers(db, new)


def shift_schedule(
    db: sqlite3.Connection, cache: rows.RequestCache, seconds: float, at: float
) -> None:
    """Make reminders and escalations due earlier, by as much as the clock was set back to ``at``."""
    seqs = [seq for (seq,) in db.execute("SELECT seq FROM asks WHERE due IS NOT NULL ORDER BY seq")]
    for old in load_many(db, cache, seqs):
        if not at - rows.CLOCK_CHANGE_WINDOW <= old.created_at <= at:
            update(db, old, replace(old, set_back=old.set_back + seconds))


def newest_first(
    db: sqlite3.Connection,
    table: str,
    filters: Filters,
    span: tuple[int, int],
) -> tuple[Sequence[int], str | None]:
    """Return the numbers of one page's rows, newest first, and the cursor of the next page.

    ``span`` is the row that they come after, and the maximum number of rows.
    """
    after, limit = span
    filters_set = {name: value for name, value in filters.items() if value is not None}
    where = "".join(f"{name} = ? AND " for name in filters_set)
    found = db.execute(
        f"SELECT seq FROM {table} WHERE {where}seq < ? ORDER BY seq DESC LIMIT ?",
        (*filters_set.values(), after, limit + 1),
    ).fetchall()
    more = len(found) > limit
    seqs = [seq for (seq,) in found[:limit]]
    return seqs, rows.cursor(table, seqs[-1]) if more else None


def next_due(db: sqlite3.Connection, after: float) -> float | None:
    """Return the next time at which a reminder, an escalation or an expiry is due."""
    when: float | None
    (when,) = db.execute("SELECT min(due) FROM asks WHERE due > ?", (after,)).fetchone()
    return when


def add_lines(db: sqlite3.Connection, entries: Iterable[tuple[str | None, RecordEntry]]) -> None:
    """Append entries to the record, each for an ask or (None) for none."""
    for ask_id, entry in entries:
        [row] = rows.entry_rows(ask_id, [entry])
        (seq,) = db.execute(_ADD_LINE, row).fetchone()
        db.execute("UPDATE asks SET last_line = ? WHERE id = ?", (seq, ask_id))


def index_words(db: sqlite3.Connection, seq: int, new: Ask) -> None:
    """Index a new ask by its questions and, if it has ended, by its answers."""
    statement = "INSERT INTO asks_words (rowid, words) VALUES (?, ?)"
    db.execute(statement, (seq * 2, " ".join(question_words(new))))
    if new.outcome is not None:
        db.execute(statement, (seq * 2 + 1, " ".join(answer_words(new))))


def _index_answers(db: sqlite3.Connection, ended: Ask) -> None:
    """Index an ask that has just ended by its answers."""
    db.execute(
        "INSERT INTO asks_words (rowid, words) SELECT seq * 2 + 1, ? FROM asks WHERE id = ?",
        (" ".join(answer_words(ended)), ended.id),
    )


def index_existing_asks(db: sqlite3.Connection) -> None:
    """Index the asks that are stored already."""
    for (seq,) in db.execute("SELECT seq FROM asks").fetchall():
        if (each := _load_readable(db, seq)) is not None:
            index_words(db, seq, each)


def _load_readable(db: sqlite3.Connection, seq: int) -> Ask | None:
    """Load the ask of a row, or return None if it cannot be read. Looking the ask up reports the reason."""
    statement = (
        f"SELECT {rows.ASK_COLUMNS}, request FROM asks JOIN requests USING (seq) WHERE seq = ?"
    )
    try:
        ((*row, text),) = db.execute(statement, (seq,)).fetchall()
        return rows.ask_from_row(tuple(row), Request.model_validate_json(text))
    except (UnreadableRowError, ValueError, sqlite3.Error):
        return None


def tidy_index(db: sqlite3.Connection) -> None:
    """Merge the full-text index, in steps between which others can write. Until then, deleted words stay in it.

    https://www.sqlite.org/fts5.html#the_merge_command
    """
    merge = "INSERT INTO asks_words (asks_words, rank) VALUES ('merge', ?)"
    db.execute(merge, (-_MERGE_PAGES,))
    changed = 2
    while changed >= 2:
        before = db.total_changes
        db.execute(merge, (_MERGE_PAGES,))
        changed = db.total_changes - before
