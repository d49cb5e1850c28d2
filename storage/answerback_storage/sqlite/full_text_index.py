"""The full-text index of the SQLite file, in the transaction that stores the ask: https://www.sqlite.org/fts5.html

An ask has two rows in the index: at twice its own number what was asked, behind that what was answered. Nothing is
written twice, and a click in the middle of a form writes nothing. A trigger deletes both when the request is erased.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from answerback.core.ask import Ask, Request
from answerback.core.errors import UnreadableRowError
from answerback.ports.search import answer_words, question_words
from answerback_storage import rows

_MERGED: Final = 200
"""Pages of the index that are written in one step."""


def insert(db: sqlite3.Connection, seq: int, new: Ask) -> None:
    """Has a new ask found by what is asked, and one that has ended by what was answered, too."""
    statement = "INSERT INTO asks_words (rowid, words) VALUES (?, ?)"
    db.execute(statement, (seq * 2, " ".join(question_words(new))))
    if not new.open:
        db.execute(statement, (seq * 2 + 1, " ".join(answer_words(new))))


def add_answers(db: sqlite3.Connection, ended: Ask) -> None:
    """Has an ask that has just ended found by what was answered."""
    db.execute(
        "INSERT INTO asks_words (rowid, words) SELECT seq * 2 + 1, ? FROM asks WHERE id = ?",
        (" ".join(answer_words(ended)), ended.id),
    )


def index_existing_asks(db: sqlite3.Connection) -> None:
    """Has the asks that are there already found."""
    for (seq,) in db.execute("SELECT seq FROM asks").fetchall():
        if (ask := _readable(db, seq)) is not None:
            insert(db, seq, ask)


def _readable(db: sqlite3.Connection, seq: int) -> Ask | None:
    """The ask of a row; None where it cannot be read: whoever looks it up is told why."""
    statement = (
        f"SELECT {rows.ASK_COLUMNS}, request FROM asks JOIN requests USING (seq) WHERE seq = ?"
    )
    try:
        ((*row, text),) = db.execute(statement, (seq,)).fetchall()
        return rows.ask_from_row(tuple(row), Request.model_validate_json(text))
    except (UnreadableRowError, ValueError, sqlite3.Error):
        return None


def tidy(db: sqlite3.Connection) -> None:
    """Merges the index, in steps between which others write: words that were deleted stay in it until then.

    https://www.sqlite.org/fts5.html#the_merge_command
    """
    merge = "INSERT INTO asks_words (asks_words, rank) VALUES ('merge', ?)"
    db.execute(merge, (-_MERGED,))
    changed = 2
    while changed >= 2:
        before = db.total_changes
        db.execute(merge, (_MERGED,))
        changed = db.total_changes - before
