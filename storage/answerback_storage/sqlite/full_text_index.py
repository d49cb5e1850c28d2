"""The full-text index of the SQLite file, updated in the transaction that stores the ask.

https://www.sqlite.org/fts5.html. An ask has two rows in the index: the words of the questions at twice its own number,
and the words of the answers right after. Nothing is written twice, and a click in the middle of a form writes nothing.
A trigger deletes both rows when the request is erased.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from answerback.core.ask import Ask, Request
from answerback.core.errors import UnreadableRowError
from answerback.ports.search import answer_words, question_words
from answerback_storage import rows

_MERGE_PAGES: Final = 200
"""Pages of the index that are merged in one step."""


def insert(db: sqlite3.Connection, seq: int, new: Ask) -> None:
    """Index a new ask by its questions and, if it has ended, by its answers."""
    statement = "INSERT INTO asks_words (rowid, words) VALUES (?, ?)"
    db.execute(statement, (seq * 2, " ".join(question_words(new))))
    if new.outcome is not None:
        db.execute(statement, (seq * 2 + 1, " ".join(answer_words(new))))


def add_answers(db: sqlite3.Connection, ended: Ask) -> None:
    """Index an ask that has just ended by its answers."""
    db.execute(
        "INSERT INTO asks_words (rowid, words) SELECT seq * 2 + 1, ? FROM asks WHERE id = ?",
        (" ".join(answer_words(ended)), ended.id),
    )


def index_existing_asks(db: sqlite3.Connection) -> None:
    """Index the asks that are stored already."""
    for (seq,) in db.execute("SELECT seq FROM asks").fetchall():
        if (ask := _load_readable(db, seq)) is not None:
            insert(db, seq, ask)


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


def tidy(db: sqlite3.Connection) -> None:
    """Merge the index, in steps between which others can write. Deleted words stay in the index until it is merged.

    https://www.sqlite.org/fts5.html#the_merge_command
    """
    merge = "INSERT INTO asks_words (asks_words, rank) VALUES ('merge', ?)"
    db.execute(merge, (-_MERGE_PAGES,))
    changed = 2
    while changed >= 2:
        before = db.total_changes
        db.execute(merge, (_MERGE_PAGES,))
        changed = db.total_changes - before
