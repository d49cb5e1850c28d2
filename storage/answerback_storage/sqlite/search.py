"""The statements for search and for people's inboxes."""

from __future__ import annotations

import sqlite3
from itertools import islice
from typing import Any, Final

from answerback.core.ask import Ask
from answerback.ports.search import Search, may_wait_for
from answerback.ports.store_values import Page
from answerback_storage import rows
from answerback_storage.sqlite import asks
from answerback_storage.sqlite.database import SqliteDatabase

_HAS_WORD: Final = "seq IN (SELECT rowid / 2 FROM asks_words WHERE asks_words MATCH ?)"
_WAITING: Final = """SELECT seq FROM asks WHERE status = 'open' AND surface = ? AND seq > ?
    AND (instr(state, ?) OR instr(state, '"@') OR instr(state, '"anyone"')) ORDER BY seq"""


def search(
    db: sqlite3.Connection, cache: rows.RequestCache, query: Search, after: int, limit: int
) -> Page[Ask]:
    """Return a page of the asks that match the search, newest first, after row ``after``."""
    terms: list[tuple[str, Any]] = [(_HAS_WORD, f'"{word}"*') for word in query.words]
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


def list_for_responder(
    db: sqlite3.Connection,
    cache: rows.RequestCache,
    place: tuple[str, str],
    after: int,
    limit: int,
) -> Page[Ask]:
    """Return a page of the open asks on a surface that may wait for a person, oldest first, after row ``after``."""
    surface, user_id = place
    seqs = db.execute(_WAITING, (surface, after, rows.dump(user_id)))
    found = (
        (seq, ask)
        for (seq,) in seqs
        for ask in asks.load_many(db, cache, [seq])
        if may_wait_for(ask, user_id)
    )
    found_asks = list(islice(found, limit + 1))
    cursor = rows.cursor("waiting", found_asks[limit - 1][0]) if len(found_asks) > limit else None
    return Page(tuple(ask for _, ask in found_asks[:limit]), cursor)


class SqliteSearch(SqliteDatabase):
    """Search in the SQLite store."""

    async def search(self, query: Search, after: str | None, limit: int) -> Page[Ask]:
        """See `answerback.ports.search.AskSearch.search`."""
        behind = rows.parse_descending_cursor("search", after)
        return await self._read(lambda db: search(db, self._requests, query, behind, limit))

    async def list_for_responder(
        self, surface: str, user_id: str, after: str | None, limit: int
    ) -> Page[Ask]:
        """See `answerback.ports.search.AskSearch.list_for_responder`."""
        place, behind = (surface, user_id), rows.parse_ascending_cursor("waiting", after)
        return await self._read(
            lambda db: list_for_responder(db, self._requests, place, behind, limit)
        )
