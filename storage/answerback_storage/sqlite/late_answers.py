"""Which late answers agents have yet to see, in SQLite; see `answerback.ports.late_answers`."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any

from pydantic_core import to_json

from answerback.core.ask import Ask
from answerback.ports.late_answers import LateAnswer, LateAnswerQuery, LateAnswerStore, SeenState
from answerback_storage import rows
from answerback_storage.base_store import Part
from answerback_storage.sqlite import asks
from answerback_storage.sqlite.runner import Runner


class SqliteLateAnswers(Part[Runner], LateAnswerStore):
    """Late answers in an SQLite file."""

    async def list_owed(self, query: LateAnswerQuery, at: float) -> Sequence[LateAnswer]:
        """See `LateAnswerStore.list_owed`. If nothing is owed, nothing is written."""
        where, values = _owed_condition(query)
        exists = f"SELECT EXISTS (SELECT 1 FROM owed WHERE {where})"
        (any_owed,) = await self._db.read(lambda db: db.execute(exists, values).fetchone())
        if not any_owed:
            return []
        return await self._db.write(lambda db: _list_owed(db, self._db.requests, query, at))

    async def set_seen_state(
        self, ask_ids: Collection[str], state: SeenState, at: float
    ) -> Sequence[str]:
        ids = list(ask_ids)
        return await self._db.write(lambda db: _update_state(db, ids, state, at))

    async def get_seen_state(self, ask_id: str) -> SeenState:
        query = "SELECT told FROM owed WHERE ask_id = ?"
        found = await self._db.read(lambda db: db.execute(query, (ask_id,)).fetchone())
        return SeenState.SEEN if found is None else SeenState(found[0])


def insert_owed(db: sqlite3.Connection, ask: Ask) -> None:
    """Record that an agent is owed the outcome of an ask, or what a person has said since."""
    request = ask.request
    values = (ask.id, request.agent or "", request.conversation or "", ask.updated_at)
    db.execute(
        "INSERT INTO owed (ask_id, agent, conversation, told, at) VALUES (?, ?, ?, 0, ?)"
        " ON CONFLICT (ask_id) DO UPDATE SET told = 0, number = NULL, at = excluded.at",
        values,
    )


def _update_state(
    db: sqlite3.Connection, ask_ids: Iterable[str], state: SeenState, at: float
) -> list[str]:
    """Set how far agents have seen these asks, and return the ids for which that changed."""
    is_change = "told > 0" if state is SeenState.UNSEEN else "told < ?1"
    statement = f"UPDATE owed SET told = ?1, at = ?2 WHERE ask_id = ?3 AND {is_change}"
    return [ask_id for ask_id in ask_ids if db.execute(statement, (state, at, ask_id)).rowcount]


def _owed_condition(query: LateAnswerQuery) -> tuple[str, list[Any]]:
    """Return the condition for what is owed to an agent, and its values."""
    where, values = "owed.agent = ?", [query.agent]
    if query.conversation is not None:
        where, values = f"{where} AND owed.conversation = ?", [*values, query.conversation]
    return f"{where} AND owed.told < {1 if query.after is None else 2}", values


def _list_owed(
    db: sqlite3.Connection, cache: rows.RequestCache, query: LateAnswerQuery, at: float
) -> list[LateAnswer]:
    where, values = _owed_condition(query)
    if query.after is not None:
        db.execute(
            f"UPDATE owed SET told = 2, at = ? WHERE {where} AND number <= ?",
            (at, *values, query.after),
        )
    found = db.execute(
        f"""SELECT asks.seq, owed.seq, number FROM owed JOIN asks ON asks.id = ask_id
            WHERE {where} AND ask_id NOT IN (SELECT value FROM json_each(?))
            ORDER BY number IS NULL, number, owed.seq""",
        (*values, to_json(sorted(query.without)).decode()),
    ).fetchall()
    readable = ((row, ask) for row in found for ask in asks.load_many(db, cache, row[:1]))
    return [
        LateAnswer(_ensure_number(db, owed, number), ask)
        for (_, owed, number), ask in islice(readable, query.limit)
    ]


def _ensure_number(db: sqlite3.Connection, seq: int, number: int | None) -> int:
    """Return the number of a row, assigning one if it has none."""
    if number is not None:
        return number
    new_number: int
    (new_number,) = db.execute("UPDATE listed SET last = last + 1 RETURNING last").fetchone()
    db.execute("UPDATE owed SET number = ? WHERE seq = ?", (new_number, seq))
    return new_number
