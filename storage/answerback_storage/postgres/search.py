"""The statements of search and of people's inboxes, and of the words that search looks in.

https://www.postgresql.org/docs/current/textsearch-features.html: words come split already, as every store splits them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from answerback.core.ask import Ask
from answerback.ports.search import Search, answer_words, may_wait_for, question_words
from answerback.ports.store_values import Page
from answerback_storage import rows
from answerback_storage.postgres import asks
from answerback_storage.postgres.connections import Connection, Database
from answerback_storage.postgres.sql import Parameters, equality_conditions

_VECTOR: Final = "array_to_tsvector(string_to_array({}, ' '))"


def search_text(ask: Ask) -> str:
    """What an ask is found by: what was asked, and of one that has ended what was answered, too."""
    found = question_words(ask) if ask.open else (*question_words(ask), *answer_words(ask))
    return " ".join(dict.fromkeys(found))


def insert(given: Parameters, new: Ask) -> str:
    """The part of a statement that has the ask in ``requested`` found."""
    vector = _VECTOR.format(given.add(search_text(new)))
    return f"INSERT INTO asks_words (seq, words) SELECT seq, {vector} FROM requested"


def add_answers(given: Parameters, ended: Iterable[Ask]) -> str:
    """The part of a statement that has those of these asks found by their answers that are in ``moved``."""
    found = [(ask.id, " ".join(answer_words(ask))) for ask in ended]
    return f"""UPDATE asks_words SET words = asks_words.words || {_VECTOR.format("new.c1")}
        FROM ({given.rows(found, ("text", "text"))}) AS new (c0, c1, n)
        JOIN moved ON moved.id = c0 JOIN asks ON asks.id = c0 WHERE asks_words.seq = asks.seq"""


async def index_existing_asks(connection: Connection) -> None:
    """Has the asks that are there already found, but for those that this version cannot read."""
    for (seq,) in await (await connection.execute("SELECT seq FROM asks")).fetchall():
        found = await connection.execute(select_indexable_row(seq))
        for statement in index_statements(seq, await found.fetchall()):
            await connection.execute(statement)


def select_indexable_row(seq: int) -> bytes:
    """The row that `index_statements` takes."""
    return asks.load_statement(f"WHERE seq = {seq}").encode()


def index_statements(seq: int, found: Iterable[rows.Row]) -> list[bytes]:
    """The statement that has the ask of a row found; none where it cannot be read."""
    cache = rows.RequestCache()
    named = [(row[1], row) for row in found]
    # Words are letters and digits, so they can stand in the statement.
    return [
        f"INSERT INTO asks_words VALUES ({seq}, {_vector(search_text(ask))})".encode()
        for ask in asks.read_valid_rows(
            set(), "asks", named, lambda row: asks.parse_row(cache, row).ask
        )
    ]


def _vector(text: str) -> str:
    return _VECTOR.format(f"'{text}'")


async def search(
    database: Database, reader: asks.Reader, wanted: Search, after: int, limit: int
) -> Page[Ask]:
    """Asks that have all that is wanted, newest first, behind row ``after``."""
    given = Parameters()
    terms = equality_conditions(given, {"status": wanted.status, "agent": wanted.agent})
    if wanted.words:
        query = given.add(" & ".join(f"'{word}':*" for word in wanted.words))
        terms += f"seq IN (SELECT seq FROM asks_words WHERE words @@ {query}::tsquery) AND "
    for value, term in ((wanted.since, "created_at >="), (wanted.until, "created_at <")):
        if value is not None:
            terms += f"{term} {given.add(value, 'float8')} AND "
    terms += f"seq < {given.add(after, 'bigint')} ORDER BY seq DESC LIMIT {limit + 1}"
    found = await database.read(
        f"SELECT seq, {asks.LOAD_COLUMNS} FROM asks WHERE {terms}", given.values
    )
    cursor = rows.cursor("search", found[limit - 1][0]) if len(found) > limit else None
    return Page(tuple(_asks(reader, found[:limit])), cursor)


async def waiting(
    database: Database, reader: asks.Reader, place: tuple[str, str], after: int, limit: int
) -> Page[Ask]:
    """The open asks of a surface that may wait for a person, oldest first, behind row ``after``."""
    surface, user_id = place
    part: list[tuple[int, Ask]] = []
    while len(part) <= limit:
        given = Parameters()
        terms = f"status = 'open' AND {equality_conditions(given, {'surface': surface})}"
        named = f"strpos(state, {given.add(rows.dump(user_id))}) > 0"
        found = await database.read(
            f"""SELECT seq, {asks.LOAD_COLUMNS} FROM asks WHERE {terms} seq > {given.add(after, "bigint")}
                AND ({named} OR strpos(state, '"@') > 0 OR strpos(state, '"anyone"') > 0)
                ORDER BY seq LIMIT {limit + 1}""",
            given.values,
        )
        seqs = {row[2]: row[0] for row in found}
        part += [(seqs[ask.id], ask) for ask in _asks(reader, found) if may_wait_for(ask, user_id)]
        if len(found) <= limit:
            break
        after = found[-1][0]
    cursor = rows.cursor("waiting", part[limit - 1][0]) if len(part) > limit else None
    return Page(tuple(ask for _, ask in part[:limit]), cursor)


def _asks(reader: asks.Reader, found: list[rows.Row]) -> list[Ask]:
    named = [(row[2], row[1:]) for row in found]
    return asks.read_valid_rows(
        reader.told, "asks", named, lambda row: asks.parse_row(reader.cache, row).ask
    )
