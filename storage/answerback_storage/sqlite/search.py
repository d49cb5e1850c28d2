"""Search and people's inboxes in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from answerback.core.ask import Ask
from answerback.ports.search import Account, Search, answerer_word, may_wait_for
from answerback.ports.store_values import Page
from answerback_storage import rows
from answerback_storage.base_store import BaseSearch
from answerback_storage.sqlite import asks
from answerback_storage.sqlite.runner import Runner

_HAS_WORD: Final = "seq IN (SELECT rowid / 2 FROM asks_words WHERE asks_words MATCH ?)"
_WAITING: Final = "SELECT seq FROM asks WHERE status = 'open' AND seq > ? AND ({}) ORDER BY seq"
_ON_SURFACE: Final = """surface = ?
    AND (instr(state, ?) OR instr(state, '"@') OR instr(state, '"anyone"'))"""


class SqliteSearch(BaseSearch[Runner]):
    """Search in an SQLite file."""

    async def _find(self, wanted: Search, behind: int, limit: int) -> Page[Ask]:
        return await self._db.read(lambda db: _search(db, self._db.requests, wanted, behind, limit))

    async def _list_for_responder(
        self, accounts: Sequence[Account], behind: int, limit: int
    ) -> Page[Ask]:
        return await self._db.read(
            lambda db: _list_for_responder(db, self._db.requests, accounts, behind, limit)
        )


def _search(
    db: sqlite3.Connection, cache: rows.RequestCache, query: Search, after: int, limit: int
) -> Page[Ask]:
    terms: list[tuple[str, Any]] = [(_HAS_WORD, f'"{word}"*') for word in query.terms]
    terms += [(_HAS_WORD, " OR ".join(map(answerer_word, person))) for person in query.by]
    conditions = {
        "status = ?": query.status,
        "agent = ?": query.agent,
        "created_at >= ?": query.since,
        "created_at < ?": query.until,
    }
    terms += [(term, value) for term, value in conditions.items() if value is not None]
    terms.append(("seq < ?", after))
    where = " AND ".join(term for term, _ in terms)
    found = db.execute(
        f"SELECT seq FROM asks WHERE {where} ORDER BY seq DESC LIMIT ?",
        (*(value for _, value in terms), limit + 1),
    ).fetchall()
    seqs = [seq for (seq,) in found[:limit]]
    cursor = rows.cursor("search", seqs[-1]) if len(found) > limit else None
    return Page(tuple(asks.load_many(db, cache, seqs)), cursor)


def _list_for_responder(
    db: sqlite3.Connection,
    cache: rows.RequestCache,
    accounts: Sequence[Account],
    after: int,
    limit: int,
) -> Page[Ask]:
    values = [value for surface, user_id in accounts for value in (surface, rows.dump(user_id))]
    statement = _WAITING.format(" OR ".join([_ON_SURFACE] * len(accounts)))
    seqs = db.execute(statement, (after, *values))
    found = (
        (seq, ask)
        for (seq,) in seqs
        for ask in asks.load_many(db, cache, [seq])
        if may_wait_for(ask, accounts)
    )
    found_asks = list(islice(found, limit + 1))
    cursor = rows.cursor("waiting", found_asks[limit - 1][0]) if len(found_asks) > limit else None
    return Page(tuple(ask for _, ask in found_asks[:limit]), cursor)
