"""What agents are still to be told, in SQLite; see `answerback.ports.late_answers`."""

from __future__ import annotations

import sqlite3
from asyncio import Future
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

from pydantic_core import to_json

from answerback.core.ask import Ask
from answerback.ports.late_answers import LateAnswer, LateAnswerQuery, SeenState
from answerback.ports.store_values import Delivery
from answerback_storage import rows
from answerback_storage.sqlite import asks

T = TypeVar("T")


class _Workers(Protocol):
    """What runs statements: the store that this is a part of."""

    _requests: rows.RequestCache

    def _read(self, run: Callable[[sqlite3.Connection], T]) -> Future[T]: ...
    def _write(self, run: Callable[[sqlite3.Connection], T]) -> Future[T]: ...


class SqliteLateAnswers:
    """The part of the store that knows what agents have been told."""

    async def list_late_answers(
        self: _Workers, owing: LateAnswerQuery, at: float
    ) -> Sequence[LateAnswer]:
        """See `answerback.ports.late_answers.LateAnswerStore.list_late_answers`. Where nothing is owed, nothing is written."""
        where, values = _theirs(owing)
        found = f"SELECT EXISTS (SELECT 1 FROM owed WHERE {where})"
        (some,) = await self._read(lambda db: db.execute(found, values).fetchone())
        return await self._write(lambda db: _listed(db, self._requests, owing, at)) if some else []

    async def set_seen_state(
        self: _Workers, ask_ids: Collection[str], told: SeenState, at: float
    ) -> Sequence[str]:
        """See `answerback.ports.late_answers.LateAnswerStore.set_seen_state`."""
        ids = list(ask_ids)
        return await self._write(lambda db: update_told(db, ids, told, at))


def insert_owed(db: sqlite3.Connection, ask: Ask) -> None:
    """Notes that an agent is to be told how an ask ended."""
    request = ask.request
    values = (ask.id, request.agent or "", request.conversation or "", ask.updated_at)
    db.execute(
        "INSERT INTO owed (ask_id, agent, conversation, told, at) VALUES (?, ?, ?, 0, ?)", values
    )


def mark_told_by_delivery(db: sqlite3.Connection, delivery: Delivery, at: float) -> None:
    """Notes that a webhook has told an agent."""
    update_told(db, [delivery.ask_id], SeenState.SEEN, at)


def update_told(
    db: sqlite3.Connection, ask_ids: Iterable[str], told: SeenState, at: float
) -> list[str]:
    """Notes how far agents have been told of asks; the ids of those for which that was news."""
    news = "told > 0" if told is SeenState.UNSEEN else "told < ?1"
    statement = f"UPDATE owed SET told = ?1, at = ?2 WHERE ask_id = ?3 AND {news}"
    return [one for one in ask_ids if db.execute(statement, (told, at, one)).rowcount]


def _theirs(owing: LateAnswerQuery) -> tuple[str, list[Any]]:
    """What is owed to an agent, as a condition and its values."""
    where, values = "owed.agent = ?", [owing.agent]
    if owing.conversation is not None:
        where, values = f"{where} AND owed.conversation = ?", [*values, owing.conversation]
    return f"{where} AND owed.told < {1 if owing.after is None else 2}", values


def _listed(
    db: sqlite3.Connection, cache: rows.RequestCache, owing: LateAnswerQuery, at: float
) -> list[LateAnswer]:
    where, values = _theirs(owing)
    if owing.after is not None:
        db.execute(
            f"UPDATE owed SET told = 2, at = ? WHERE {where} AND number <= ?",
            (at, *values, owing.after),
        )
    found = db.execute(
        f"""SELECT asks.seq, owed.seq, number FROM owed JOIN asks ON asks.id = ask_id
            WHERE {where} AND ask_id NOT IN (SELECT value FROM json_each(?))
            ORDER BY number IS NULL, number, owed.seq""",
        (*values, to_json(sorted(owing.without)).decode()),
    ).fetchall()
    readable = ((row, one) for row in found for one in asks.load_many(db, cache, row[:1]))
    return [
        LateAnswer(_number(db, owed, number), one)
        for (_, owed, number), one in islice(readable, owing.limit)
    ]


def _number(db: sqlite3.Connection, seq: int, number: int | None) -> int:
    """The number of a row, given now where it has none."""
    if number is not None:
        return number
    given: int
    (given,) = db.execute("UPDATE listed SET last = last + 1 RETURNING last").fetchone()
    db.execute("UPDATE owed SET number = ? WHERE seq = ?", (given, seq))
    return given
