"""Search and people's inboxes in the in-memory store. Scans every ask."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Protocol, TypeVar

from answerback.core.ask import Ask
from answerback.ports.search import Search, answer_words, may_wait_for, question_words
from answerback.ports.store_values import Page
from answerback_storage import rows

T = TypeVar("T")


class _Tables(Protocol):
    """The tables of the store that this class is a part of."""

    asks: dict[str, Ask]
    numbers: dict[str, int]


class _HasTables(Protocol):
    def _tables(self) -> _Tables: ...


class MemorySearch:
    """Search in the in-memory store."""

    async def search(self: _HasTables, query: Search, after: str | None, limit: int) -> Page[Ask]:
        """See `answerback.ports.search.AskSearch.search`."""
        before = rows.parse_descending_cursor("search", after)
        numbered = iter_newest_first(self._tables(), before)
        return build_page(
            "search", ((n, ask) for n, ask in numbered if _matches_search(ask, query)), limit
        )

    async def list_for_responder(
        self: _HasTables, surface: str, user_id: str, after: str | None, limit: int
    ) -> Page[Ask]:
        """See `answerback.ports.search.AskSearch.list_for_responder`."""
        behind, tables = rows.parse_ascending_cursor("waiting", after), self._tables()
        numbered = ((number, tables.asks[ask_id]) for ask_id, number in tables.numbers.items())
        matching = (
            (number, ask)
            for number, ask in numbered
            if number > behind
            and ask.open
            and ask.destination.surface == surface
            and may_wait_for(ask, user_id)
        )
        return build_page("waiting", matching, limit)


def iter_newest_first(tables: _Tables, before: int) -> Iterator[tuple[int, Ask]]:
    """Yield the asks before a number and their numbers, newest first."""
    for ask_id, number in reversed(tables.numbers.items()):
        if number < before:
            yield number, tables.asks[ask_id]


def build_page(kind: str, numbered: Iterator[tuple[int, T]], limit: int) -> Page[T]:
    """Build a page from numbered results."""
    rows_found = list(islice(numbered, limit + 1))
    after = rows.cursor(kind, rows_found[limit - 1][0]) if len(rows_found) > limit else None
    return Page(tuple(item for _, item in rows_found[:limit]), after)


def _matches_search(ask: Ask, query: Search) -> bool:
    words = question_words(ask) if ask.open else (*question_words(ask), *answer_words(ask))
    return (
        query.status in {None, ask.status}
        and query.agent in {None, ask.request.agent}
        and (query.since is None or ask.created_at >= query.since)
        and (query.until is None or ask.created_at < query.until)
        and all(any(word.startswith(prefix) for word in words) for prefix in query.words)
    )
