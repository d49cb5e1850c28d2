"""Search and people's inboxes, in a database."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import Final

from answerback.core.ask import Ask, Status
from answerback.ports.search import Account, AskSearch, Search, may_wait_for
from answerback.ports.store_values import Page
from answerback_storage import cursors, rows
from answerback_storage.sql_database import OPEN_BY_URGENCY, Part, SqlDatabase, where

_NEWEST: Final = 1_000
"""Asks that are searched first: a word or date that many have fills a page from these, without a list of them all."""


class SqlSearch(Part[SqlDatabase], AskSearch):
    async def find(self, wanted: Search, after: str | None, limit: int) -> Page[Ask]:
        behind = cursors.parse_cursor("search", after)
        found: Sequence[tuple[int, Ask]] = ()
        is_dated = wanted.since is not None or wanted.until is not None
        if is_dated and not (wanted.terms or wanted.by or wanted.status or wanted.agent):
            return cursors.page("search", await self._find_by_time(wanted, after, limit + 1), limit)
        if wanted.terms or wanted.by or is_dated:
            [(last,)] = await self._db.fetch("SELECT max(seq) FROM asks")
            if (first := min(behind, last or 0) - _NEWEST) > 0:
                found = await self._find(wanted, behind, limit + 1, first)
        if len(found) <= limit:
            oldest, newest = await self._numbers_of(wanted) if is_dated else (None, None)
            end = behind if newest is None else min(behind, newest + 1)
            found = await self._find(wanted, end, limit + 1, 0, oldest)
        return cursors.page("search", found, limit)

    async def _find_by_time(
        self, wanted: Search, after: str | None, limit: int
    ) -> Sequence[tuple[int, Ask]]:
        """Return the asks of some time, the last created first, as the index by time has them."""
        behind = None if after is None else cursors.parse_cursor("search", after)
        terms, values = where(
            self._db,
            {},
            ("status <> {}", Status.OPEN.value if wanted.ended else None),
            ("created_at >= {}", wanted.since),
            ("created_at < {}", wanted.until),
            ("(created_at, seq) < ((SELECT created_at FROM asks WHERE seq = {}), {})", behind),
        )
        query = f"WHERE {terms} ORDER BY created_at DESC, seq DESC"
        return await self._db.find(query, values, limit)

    async def _numbers_of(self, wanted: Search) -> tuple[int | None, int | None]:
        """Return the lowest and the highest number of the asks that were created in the time that is searched.

        The numbers in between are mostly theirs, too. Without them, a search would read all asks that are newer, and
        once it has found the last one, all that are older.
        """
        since = "created_at >= {}", wanted.since
        until = "created_at < {}", wanted.until
        terms, values = where(self._db, {}, since, until)
        # The sign keeps databases from looking through all asks by number for the first that matches.
        statement = f"SELECT min(+seq), max(+seq) FROM asks WHERE {terms}"
        [(oldest, newest)] = await self._db.fetch(statement, *values)
        return oldest, newest

    async def _find(
        self, wanted: Search, behind: int, limit: int, first: int, oldest: int | None = None
    ) -> Sequence[tuple[int, Ask]]:
        """Return asks of which the oldest has at least the number ``first``, or ``oldest``."""
        columns = {"status": wanted.status and wanted.status.value, "agent": wanted.agent}
        terms, values = where(
            self._db,
            columns,
            *self._words(wanted, first),
            ("status <> {}", Status.OPEN.value if wanted.ended else None),
            # They are read by number. With the index by time, all in that time would be sorted.
            ("+created_at >= {}", wanted.since),
            ("+created_at < {}", wanted.until),
            ("seq < {}", behind),
            ("seq >= {}", first or oldest),
        )
        return await self._db.find(f"WHERE {terms} ORDER BY seq DESC", values, limit)

    @abstractmethod
    def _words(self, wanted: Search, first: int) -> Sequence[tuple[str, object]]:
        """Return the conditions that asks from a number on have certain words, with their values."""

    async def list_for_responder(
        self, accounts: Sequence[Account], after: str | None, limit: int
    ) -> Page[Ask]:
        (urgency, seq), position = cursors.parse_urgency_cursor(after), self._db.position
        places = " OR ".join(
            f"""({self._db.equals("surface", f"${3 * n}")} AND ({position}(state, ${3 * n + 1}) > 0
                OR {position}(state, '"@') > 0 OR {position}(state, '"anyone"') > 0))
                OR {position}(state, ${3 * n + 2}) > 0"""
            for n in range(1, len(accounts) + 1)
        )
        values = chain.from_iterable(
            (surface, rows.dump(user), rows.dump(f"{surface}:{user}")) for surface, user in accounts
        )
        query = f"WHERE {OPEN_BY_URGENCY} AND ({places}) ORDER BY urgency, seq"
        found = await self._db.find(
            query, (urgency, seq, *values), limit + 1, lambda ask: may_wait_for(ask, accounts)
        )
        return cursors.page_by_urgency(found, limit)
