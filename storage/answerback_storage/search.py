"""Search and people's inboxes, in a database."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain

from answerback.core.ask import Ask
from answerback.ports.search import Account, AskSearch, Search, may_wait_for
from answerback.ports.store_values import Page
from answerback_storage import cursors, rows
from answerback_storage.sql_database import Part, SqlDatabase, where


class SqlSearch(Part[SqlDatabase], AskSearch):
    async def find(self, wanted: Search, after: str | None, limit: int) -> Page[Ask]:
        columns = {"status": wanted.status and wanted.status.value, "agent": wanted.agent}
        conditions = (
            ("created_at >= {}", wanted.since),
            ("created_at < {}", wanted.until),
            ("seq < {}", cursors.parse_cursor("search", after)),
        )
        terms, values = where(self._db, columns, *self._words(wanted), *conditions)
        query = f"WHERE {terms} ORDER BY seq DESC"
        return cursors.page("search", await self._db.find(query, values, limit + 1), limit)

    @abstractmethod
    def _words(self, wanted: Search) -> Sequence[tuple[str, object]]:
        """Return the conditions that asks have certain words, with their values."""

    async def list_for_responder(
        self, accounts: Sequence[Account], after: str | None, limit: int
    ) -> Page[Ask]:
        behind, position = cursors.parse_cursor("waiting", after, 0), self._db.position
        places = " OR ".join(
            f"""({self._db.equals("surface", f"${3 * n - 1}")} AND ({position}(state, ${3 * n}) > 0
                OR {position}(state, '"@') > 0 OR {position}(state, '"anyone"') > 0))
                OR {position}(state, ${3 * n + 1}) > 0"""
            for n in range(1, len(accounts) + 1)
        )
        values = chain.from_iterable(
            (surface, rows.dump(user), rows.dump(f"{surface}:{user}")) for surface, user in accounts
        )
        query = f"WHERE status = 'open' AND seq > $1 AND ({places}) ORDER BY seq"
        found = await self._db.find(
            query, (behind, *values), limit + 1, lambda ask: may_wait_for(ask, accounts)
        )
        return cursors.page("waiting", found, limit)
