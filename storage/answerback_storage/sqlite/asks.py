"""The statements about asks, and their words in the full-text index. They run inside the caller's transaction.

An ask has two rows in the index (https://www.sqlite.org/fts5.html): the words of the questions at twice its own number,
and the words of the answers right after. Nothing is written twice, and a click in the middle of a form writes nothing.
A trigger deletes both rows when the request is erased.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, TypeVar

from answerback.core.ask import Ask, RecordEntry
from answerback.core.errors import StoreError
from answerback.core.grants import GrantChange, GrantEnd, GrantUse
from answerback.core.sent_files import FileChanges
from answerback.core.urgency import PLACES
from answerback.ports.claims import Claim
from answerback.ports.search import answer_words, question_words
from answerback.ports.store import Write
from answerback.ports.store_values import Existing, Idempotency
from answerback_storage import extension_rows, grants, late_answers, rows
from answerback_storage.sqlite import claim_statements as claims
from answerback_storage.sqlite.statements import run_statement

T = TypeVar("T")

_LOAD: Final = f"SELECT {rows.ASK_COLUMNS}, show_holder, show_until FROM asks WHERE id = ?"
_LOAD_ROW: Final = f"SELECT {rows.ASK_COLUMNS} FROM asks WHERE seq = ?"
_INSERT: Final = """INSERT INTO asks (seq, id, created_at, conversation, agent, urgency, route, status, surface,
    channel, thread_id, due, message, thread, left_channel, left_until, revision, updated_at, shown_revision, state,
    show_holder, show_until, last_line)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_INSERT_LINE: Final = """INSERT INTO record (ask_id, at, kind, entry, before) VALUES (?, ?, ?, ?, ?)
    RETURNING seq"""
_ADD_LINE: Final = """INSERT INTO record (ask_id, at, kind, entry, before)
    VALUES ($1, $2, $3, $4, (SELECT last_line FROM asks WHERE id = $1)) RETURNING seq"""
_OWE: Final = """INSERT INTO owed (ask_id, agent, conversation, told, at) VALUES (?, ?, ?, 0, ?)
    ON CONFLICT (ask_id) DO UPDATE SET told = 0, number = NULL, at = excluded.at"""
_INSERT_DELIVERY: Final = f"""INSERT INTO deliveries ({rows.DELIVERY_COLUMNS})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_INSERT_ROW: Final = "INSERT INTO extension_rows (name, ask_id, value, at) VALUES (?, ?, ?, ?)"
_REMEMBER: Final = """INSERT OR REPLACE INTO remembered
    (agent, conversation, turn, tool, question_id, value, at) VALUES (?, ?, ?, ?, ?, ?, ?)"""
_INSERT_GRANT: Final = f"""INSERT INTO grants ({", ".join(grants.COLUMNS)})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_USE_GRANT: Final = """UPDATE grants SET used = used + 1 WHERE id = $1 AND used = $2 - 1 AND used < uses
    AND at <= $3 AND until > $3 AND ended_at IS NULL"""
_END_GRANT: Final = "UPDATE grants SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL"
OUTDATED: Final = "an ask is not at its revision in its own transaction"
_MERGE_PAGES: Final = 200
"""Pages of the full-text index that are merged in one step."""
_CLAIMED: Final = claims.claim_assignments(
    revision=":revision", shown=":shown_revision", holder=":holder", now=":now", until=":until"
)


def load(
    db: sqlite3.Connection, cache: rows.RequestCache, ask_id: str, *, changes: bool = True
) -> Ask | None:
    return load_with_claim(db, cache, ask_id, changes=changes)[0]


def load_with_claim(
    db: sqlite3.Connection, cache: rows.RequestCache, ask_id: str, *, changes: bool = True
) -> tuple[Ask | None, str | None, float]:
    """Return the current state of an ask, the holder of its message's claim, and when that claim ends."""
    try:
        row = db.execute(_LOAD, (ask_id,)).fetchone()
        if row is None:
            return None, None, 0.0
        return (ask(db, cache, row[:-2], changes=changes), *row[-2:])
    except sqlite3.Error as error:
        if rows.concerns_one_row(error):
            raise rows.unreadable_ask_error(ask_id, error) from None  # the error quotes the row
        raise


def load_many(
    db: sqlite3.Connection,
    cache: rows.RequestCache,
    unreadable: rows.UnreadableRows,
    seqs: Iterable[int],
) -> Iterator[tuple[int, Ask]]:
    """Yield the asks of these rows with their numbers, skipping those that cannot be read."""

    def read(seq: int) -> tuple[int, Ask]:
        return seq, ask(db, cache, db.execute(_LOAD_ROW, (seq,)).fetchone(), changes=False)

    return read_valid_rows(db, unreadable, "asks", seqs, read)


def read_valid_rows(
    db: sqlite3.Connection,
    unreadable: rows.UnreadableRows,
    table: str,
    seqs: Iterable[int],
    read: Callable[[int], T],
) -> Iterator[T]:
    """Yield what ``read`` returns for the rows with these numbers that can be read."""

    def id_of(seq: int) -> str:
        statement = f"SELECT CAST(id AS BLOB) FROM {table} WHERE seq = ?"
        return str(db.execute(statement, (seq,)).fetchone()[0].decode(errors="replace"))

    return unreadable.skip(table, ((seq, seq) for seq in seqs), read, id_of)


def ask(
    db: sqlite3.Connection, cache: rows.RequestCache, row: rows.Row, *, changes: bool = True
) -> Ask:
    """Build the ask of a row of `rows.ASK_COLUMNS`."""

    def read() -> str:
        found = db.execute("SELECT request FROM requests WHERE seq = ?", row[:1]).fetchone()
        if found is None:
            raise rows.unreadable_ask_error(row[1])
        text: str = found[0]
        return text

    try:
        request = cache.get(row[1], read, changes=changes)
    except ValueError as error:
        raise rows.unreadable_ask_error(row[1], error) from error
    except sqlite3.Error as error:
        if rows.concerns_one_row(error):
            raise rows.unreadable_ask_error(row[1], error) from None
        raise
    return rows.ask_from_row(row, request)


def insert(db: sqlite3.Connection, write: Write) -> None:
    """Store a new ask with its lines of the record, and claim its message if it is to be shown."""
    new, claim, request = write.ask, write.claim, write.ask.request
    (seq,) = db.execute(
        "INSERT INTO requests (request) VALUES (?) RETURNING seq", (rows.dump_request(request),)
    ).fetchone()
    sent = (
        *(request.conversation, request.agent, PLACES[request.urgency]),
        (request.route or "")[: rows.ROUTE_CHARACTERS],
    )
    identity = (seq, new.id, new.created_at, *sent)
    behind = new.placement.shown_revision < new.revision
    holder, _, until = rows.claim_row(claim if behind else None)
    last = None
    for line in rows.entry_rows(new.id, write.entries):
        (last,) = db.execute(_INSERT_LINE, (*line, last)).fetchone()
    columns = (*rows.lookup_columns(new), *rows.step_columns(new))
    db.execute(_INSERT, (*identity, *columns, holder, until, last))
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


def update(
    db: sqlite3.Connection,
    old: Ask,
    new: Ask,
    claim: Claim | None = None,
    last_line: int | None = None,
) -> None:
    """Store the new state of ``old``, which this transaction has read.

    Args:
        last_line: the ask's last line of the record, if there are new ones.

    Raises:
        sqlite3.IntegrityError: something else in the file, such as a trigger, has changed the ask meanwhile.
    """
    changed = rows.changed_columns(old, new)
    revision, _, shown_revision, state = rows.step_columns(new)
    holder, now, until = rows.claim_row(claim)
    values = {
        "id": old.id,
        "was": old.revision,
        "revision": revision,
        "state": state,
        "shown_revision": shown_revision,
        "last_line": last_line,
        "holder": holder,
        "now": now,
        "until": until,
    }
    if db.execute(_update_of(tuple(changed)), values | changed).rowcount != 1:
        raise sqlite3.IntegrityError(OUTDATED)
    if old.open and not new.open:
        _index_answers(db, new)


@lru_cache  # a microsecond, one to four times an action
def _update_of(columns: Sequence[str]) -> str:
    """Return the statement that updates an ask: besides what every change touches, these columns.

    It names no others, because SQLite writes each index of a column that it names, even if the value is the same.
    """
    names = (*columns, "revision", "shown_revision", "state")
    assigned = [f"{name} = :{name}" for name in names]
    if "due" in columns:
        assigned.append("due_holder = NULL")
    assigned += ["last_line = ifnull(:last_line, last_line)", _CLAIMED]
    return f"UPDATE asks SET {', '.join(assigned)} WHERE id = :id AND revision = :was"


def add_lines(db: sqlite3.Connection, entries: Iterable[tuple[str | None, RecordEntry]]) -> None:
    """Append entries to the record, each for an ask or (None) for none."""
    for ask_id, entry in entries:
        [row] = rows.entry_rows(ask_id, [entry])
        (seq,) = run_statement(db, _ADD_LINE, row).fetchone()
        db.execute("UPDATE asks SET last_line = ? WHERE id = ?", (seq, ask_id))


def insert_related(db: sqlite3.Connection, write: Write) -> None:
    """Store what belongs to the same transaction as the ask, except its lines of the record."""
    ask = write.ask
    if write.deliveries:
        new = [rows.delivery_row(rows.new_delivery(delivery)) for delivery in write.deliveries]
        db.executemany(_INSERT_DELIVERY, new)
    if write.rows:
        new = [extension_rows.row(each, ask.id, ask.updated_at) for each in write.rows]
        db.executemany(_INSERT_ROW, new)
    if write.owed:
        db.execute(_OWE, late_answers.owed_row(ask))
    for table, columns, values in write.ask_rows:
        insert = f"INSERT INTO {table} (seq, {', '.join(columns)}) SELECT seq, {', '.join('?' * len(columns))}"
        db.execute(f"{insert} FROM asks WHERE id = ?", (*values, ask.id))
    if (memory := write.memory) is not None:
        names = (memory.agent, memory.conversation, memory.turn, memory.tool, memory.question)
        db.execute(_REMEMBER, (*names, rows.dump(memory.value), ask.updated_at))


def claim_files(db: sqlite3.Connection, new: Ask) -> bool:
    """Give a new ask the files of its request; False if one of them cannot be claimed any more."""
    ids = [each.id for each in new.request.files]
    unclaimed = f"id IN ({', '.join('?' * len(ids))}) AND agent = ? AND ask_id IS NULL AND value IS NOT NULL"
    values = (*ids, new.request.agent or "")
    (count,) = db.execute(f"SELECT count(*) FROM files WHERE {unclaimed}", values).fetchone()
    if count < len(ids):
        return False
    db.execute(f"UPDATE files SET ask_id = ? WHERE {unclaimed}", (new.id, *values))
    return True


def change_files(db: sqlite3.Connection, new: Ask, changed: FileChanges) -> None:
    """Claim the files that came with an answer, and delete those that no answer names any more.

    Raises:
        StoreError: one cannot be claimed any more.
    """
    for file_id in changed.claimed:
        claim = "UPDATE files SET ask_id = ? WHERE id = ? AND ask_id IS NULL AND value IS NOT NULL"
        if db.execute(claim, (new.id, file_id)).rowcount != 1:
            raise StoreError(rows.FILE_GONE)
    db.executemany("DELETE FROM files WHERE id = ?", [(each,) for each in changed.dropped])


def store_grant(db: sqlite3.Connection, change: GrantChange) -> bool:
    """Store what becomes of a grant; False if it is to be used, and cannot be any more."""
    if isinstance(change, GrantUse):
        return run_statement(db, _USE_GRANT, change).rowcount == 1
    if isinstance(change, GrantEnd):
        run_statement(db, _END_GRANT, change)
    else:
        db.execute(_INSERT_GRANT, grants.row(change))
    return True


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
    seqs = [seq for (seq,) in db.execute("SELECT seq FROM asks").fetchall()]
    for seq, each in load_many(db, rows.RequestCache(), rows.UnreadableRows(), seqs):
        index_words(db, seq, each)


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
