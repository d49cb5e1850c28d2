"""Search and people's inboxes in PostgreSQL, and the words that search looks in.

https://www.postgresql.org/docs/current/textsearch-features.html. Words are split before they get here, in the same way
for every store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from answerback.core.ask import Ask
from answerback.ports.search import (
    Account,
    Search,
    answer_words,
    answerer_word,
    may_wait_for,
    question_words,
)
from answerback.ports.store_values import Page
from answerback_storage import rows
from answerback_storage.base_store import BaseSearch
from answerback_storage.postgres import asks
from answerback_storage.postgres.connections import Connection
from answerback_storage.postgres.database import PostgresDatabase
from answerback_storage.postgres.sql import Parameters, equality_conditions

_VECTOR: Final = "array_to_tsvector(string_to_array({}, ' '))"


def search_text(ask: Ask) -> str:
    """Return the words that an ask is found by: those of the questions and, if it has ended, those of the answers."""
    found = question_words(ask) if ask.open else (*question_words(ask), *answer_words(ask))
    return " ".join(dict.fromkeys(found))


def insert(params: Parameters, new: Ask) -> str:
    """Build the part of a statement that indexes the ask in ``requested``."""
    vector = _VECTOR.format(params.add(search_text(new)))
    return f"INSERT INTO asks_words (seq, words) SELECT seq, {vector} FROM requested"


def add_answers(params: Parameters, ended: Iterable[Ask]) -> str:
    """Build the part of a statement that indexes the answers of those of these asks that are in ``stored``."""
    found = [(ask.id, " ".join(answer_words(ask))) for ask in ended]
    return f"""UPDATE asks_words SET words = asks_words.words || {_VECTOR.format("new.c1")}
        FROM ({params.rows(found, ("text", "text"))}) AS new (c0, c1, n)
        JOIN stored ON stored.id = c0 JOIN asks ON asks.id = c0 WHERE asks_words.seq = asks.seq"""


async def index_existing_asks(connection: Connection) -> None:
    """Index the asks that are stored already, except those that this version cannot read."""
    for (seq,) in await (await connection.execute("SELECT seq FROM asks")).fetchall():
        found = await connection.execute(select_indexable_row(seq))
        for statement in index_statements(seq, await found.fetchall()):
            await connection.execute(statement)


def select_indexable_row(seq: int) -> bytes:
    """Build the statement that selects the row for `index_statements`."""
    return asks.load_statement(f"WHERE seq = {seq}").encode()


def index_statements(seq: int, found: Iterable[rows.Row]) -> list[bytes]:
    """Build the statement that indexes the ask of a row, or none if the ask cannot be read."""
    cache = rows.RequestCache()
    by_id = [(row[1], row) for row in found]
    # Words consist of letters and digits, so they can be inlined.
    return [
        f"INSERT INTO asks_words VALUES ({seq}, {_vector(search_text(ask))})".encode()
        for ask in asks.read_valid_rows(
            set(), "asks", by_id, lambda row: asks.parse_row(cache, row).ask
        )
    ]


def _vector(text: str) -> str:
    return _VECTOR.format(f"'{text}'")


class PostgresSearch(BaseSearch[PostgresDatabase]):
    """Search in a PostgreSQL database."""

    async def _find(self, wanted: Search, behind: int, limit: int) -> Page[Ask]:
        params = Parameters()
        terms = equality_conditions(params, {"status": wanted.status, "agent": wanted.agent})
        lexemes = [f"'{word}':*" for word in wanted.terms]
        lexemes += [f"({' | '.join(map(answerer_word, person))})" for person in wanted.by]
        if lexemes:
            tsquery = params.add(" & ".join(lexemes))
            terms += f"seq IN (SELECT seq FROM asks_words WHERE words @@ {tsquery}::tsquery) AND "
        for value, term in ((wanted.since, "created_at >="), (wanted.until, "created_at <")):
            if value is not None:
                terms += f"{term} {params.add(value, 'float8')} AND "
        terms += f"seq < {params.add(behind, 'bigint')} ORDER BY seq DESC LIMIT {limit + 1}"
        statement = f"SELECT seq, {asks.LOAD_COLUMNS} FROM asks WHERE {terms}"
        found = await self._db.read(statement, *params.values)
        cursor = rows.cursor("search", found[limit - 1][0]) if len(found) > limit else None
        return Page(tuple(asks.read_valid(self._db, [row[1:] for row in found[:limit]])), cursor)

    async def _list_for_responder(
        self, accounts: Sequence[Account], behind: int, limit: int
    ) -> Page[Ask]:
        page_asks: list[tuple[int, Ask]] = []
        while len(page_asks) <= limit:
            params = Parameters()
            places = " OR ".join(
                f"""({equality_conditions(params, {"surface": surface})}
                (strpos(state, {params.add(rows.dump(user_id))}) > 0
                    OR strpos(state, '"@') > 0 OR strpos(state, '"anyone"') > 0))"""
                for surface, user_id in accounts
            )
            found = await self._db.read(
                f"""SELECT seq, {asks.LOAD_COLUMNS} FROM asks WHERE status = 'open'
                    AND seq > {params.add(behind, "bigint")} AND ({places}) ORDER BY seq LIMIT {limit + 1}""",
                *params.values,
            )
            seqs = {row[2]: row[0] for row in found}
            page_asks += [
                (seqs[ask.id], ask)
                for ask in asks.read_valid(self._db, [row[1:] for row in found])
                if may_wait_for(ask, accounts)
            ]
            if len(found) <= limit:
                break
            behind = found[-1][0]
        cursor = rows.cursor("waiting", page_asks[limit - 1][0]) if len(page_asks) > limit else None
        return Page(tuple(ask for _, ask in page_asks[:limit]), cursor)
