"""Find asks by words in PostgreSQL.

https://www.postgresql.org/docs/current/textsearch-features.html. Words are split before they get here, in the same way
for every store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from answerback.core.ask import Ask
from answerback.ports.search import Search, answer_words, answerer_word, question_words
from answerback_postgres import asks
from answerback_postgres.connections import Connection
from answerback_postgres.sql import Parameters
from answerback_storage import rows
from answerback_storage.search import SqlSearch

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
        FROM {params.table(found, ("text", "text"))} JOIN stored ON stored.id = c0 WHERE asks_words.seq = stored.seq"""


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
    by_id = ((row[1], row) for row in found)
    read = rows.UnreadableRows().skip("asks", by_id, partial(asks.parse_row, rows.RequestCache()))
    # Words consist of letters and digits, so they can be inlined.
    vectors = [_VECTOR.format(f"'{search_text(versioned.ask)}'") for versioned in read]
    return [f"INSERT INTO asks_words VALUES ({seq}, {vector})".encode() for vector in vectors]


class PostgresSearch(SqlSearch):
    def _words(self, wanted: Search, first: int) -> Sequence[tuple[str, object]]:
        lexemes = [f"'{word}':*" for word in wanted.terms]
        lexemes += [f"({' | '.join(map(answerer_word, person))})" for person in wanted.by]
        newest = f" AND seq >= {first}" if first else ""
        # An array is looked up. PostgreSQL could also go through all asks, if it expects that many have the words.
        condition = (
            f"seq = ANY (ARRAY(SELECT seq FROM asks_words WHERE words @@ {{}}::tsquery{newest}))"
        )
        return [(condition, " & ".join(lexemes) or None)]
