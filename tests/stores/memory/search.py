"""Search and people's inboxes in the in-memory store. Scans every ask."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from answerback.core.ask import Ask
from answerback.ports.search import (
    Account,
    AskSearch,
    Search,
    answer_words,
    answerer_word,
    may_wait_for,
    question_words,
)
from answerback.ports.store_values import Page
from answerback_storage import cursors
from answerback_storage.sql_database import Part
from tests.stores.memory.database import MemoryDatabase


class MemorySearch(Part[MemoryDatabase], AskSearch):
    """Search in memory."""

    async def find(self, wanted: Search, after: str | None, limit: int) -> Page[Ask]:
        behind = cursors.parse_cursor("search", after)
        numbered = self._db.tables().iter_newest_first(behind)
        found = ((n, ask) for n, ask in numbered if _matches_search(ask, wanted))
        return cursors.page("search", found, limit)

    async def list_for_responder(
        self, accounts: Sequence[Account], after: str | None, limit: int
    ) -> Page[Ask]:
        behind = cursors.parse_cursor("waiting", after, 0)
        tables = self._db.tables()
        numbered = ((number, tables.asks[ask_id]) for ask_id, number in tables.numbers.items())
        matching = (
            (number, ask)
            for number, ask in numbered
            if number > behind and ask.open and may_wait_for(ask, accounts)
        )
        return cursors.page("waiting", matching, limit)


def matches(values: Iterable[object], wanted: Iterable[object]) -> bool:
    """Return whether each value is the wanted one (None: any)."""
    return all(want in {None, value} for value, want in zip(values, wanted, strict=True))


def _matches_search(ask: Ask, query: Search) -> bool:
    indexed = question_words(ask) if ask.open else (*question_words(ask), *answer_words(ask))
    return (
        query.status in {None, ask.status}
        and query.agent in {None, ask.request.agent}
        and (query.since is None or ask.created_at >= query.since)
        and (query.until is None or ask.created_at < query.until)
        and all(any(word.startswith(prefix) for word in indexed) for prefix in query.terms)
        and all(any(answerer_word(one) in indexed for one in person) for person in query.by)
    )
