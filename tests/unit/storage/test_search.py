"""Full-text search in databases from before it existed, and of erased requests."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from contextlib import closing
from itertools import chain
from pathlib import Path

import psycopg
import pytest
from sqlite_utils import Database

from answerback.core.ask import Ask
from answerback.core.form import Form
from answerback.ports.search import Search, split_words
from answerback.ports.store import Store, Write
from answerback_postgres.store import PostgresStore
from answerback_storage import rows
from answerback_storage.sqlite import schema
from answerback_storage.sqlite.migrate import migrations
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import FORM, new_ask
from answerback_testing.store_examples import end_decision
from tests.benchmarks.scale import Filler

pytestmark = pytest.mark.rule("API-17")

UNREADABLE = '{"format": "of tomorrow"}'


def ended_ask(number: int) -> Ask:
    decision = end_decision()(new_ask(number))
    assert decision.write is not None
    return decision.write.ask


async def found(store: Store, text: str) -> list[str]:
    return [ask.id for ask in (await store.search.find(Search(split_words(text)), None, 10)).rows]


def write_before(path: Path) -> None:
    """Write a file of the version before search, with a request that cannot be read."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        migrations.apply(Database(db, execute_plugins=False), stop_before="searched")
        for seq, ask in enumerate((new_ask(1), ended_ask(2), new_ask(3)), 1):
            request = UNREADABLE if seq == 3 else rows.dump_request(ask.request)
            db.execute("INSERT INTO requests VALUES (?, ?)", (seq, request))
            db.execute(
                """INSERT INTO asks (seq, id, created_at, status, surface, channel, thread_id, due, message,
                    thread, revision, updated_at, shown_revision, state)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 1000.0, 0, ?)""",
                (seq, ask.id, ask.created_at, *rows.lookup_columns(ask)[:-2], rows.dump_state(ask)),
            )


async def test_asks_of_an_older_file_are_found(tmp_path: Path) -> None:
    path = tmp_path / "answerback.db"
    await asyncio.to_thread(write_before, path)
    store = SqliteStore(path)
    await store.open()
    assert await found(store, "migration") == ["ask_2", "ask_1"]
    await store.close()


async def test_asks_of_an_older_postgresql_database_are_found(database: str) -> None:
    store = PostgresStore(database)
    await store.open()
    await store.asks.create(Write(new_ask(1)), None)
    await store.asks.create(Write(ended_ask(2)), None)
    await store.asks.create(Write(new_ask(3)), None)
    await store.close()
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("DELETE FROM answerback_migrations WHERE name = 'searched'")
        db.execute("DROP TABLE asks_words")
        db.execute("DROP TRIGGER words_are_erased ON requests")
        db.execute("DROP FUNCTION erase_words")
        db.execute("UPDATE requests SET request = %s WHERE seq = 3", (UNREADABLE,))
    store = PostgresStore(database)
    await store.open()
    assert await found(store, "migration") == ["ask_2", "ask_1"]
    await store.close()


async def test_an_erased_request_is_no_longer_found(tmp_path: Path, database: str) -> None:
    path = tmp_path / "answerback.db"
    stores: list[Store] = [SqliteStore(path), PostgresStore(database)]
    for store in stores:
        await store.open()
        await store.asks.create(Write(ended_ask(1)), None)
        await store.asks.create(Write(new_ask(2)), None)
    erase = (
        "UPDATE requests SET request = (SELECT request FROM requests WHERE seq = 2) WHERE seq = 1"
    )
    with psycopg.connect(database, autocommit=True) as server:
        server.execute(erase)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(erase)
    for store in stores:
        assert await found(store, "migration") == ["ask_2"]
        assert await found(store, "") == ["ask_2", "ask_1"]
        await store.close()


@pytest.mark.rule("API-17", "DATA-22")
async def test_erased_words_are_in_no_file(tmp_path: Path) -> None:
    path = tmp_path / "answerback.db"
    store = SqliteStore(path)
    await store.open()
    for number in range(1, 40):
        text = "Xylophone?" if number == 20 else f"Number {number}?"
        question = FORM.questions[0].model_copy(update={"text": text})
        ask = new_ask(number, form=Form(questions=(question,)))
        await store.asks.create(Write(ask), None)
        await store.asks.change(ask.id, end_decision())
    await store.erasure.erase("ask_20", 9_000.0, ())
    assert await found(store, "xylophone") == []
    await store.erasure.scrub()
    assert b"xylophone" not in path.read_bytes()
    assert await found(store, "39") == ["ask_39"]
    await store.close()


async def test_sqlite_finds_a_page_of_the_newest_asks_without_its_index(tmp_path: Path) -> None:
    """All that has a word, or words that begin alike, would be read from the index: a tenth of a second or more."""
    path = tmp_path / "answerback.db"
    store = SqliteStore(path)
    await store.open()
    await store.asks.create(Write(new_ask(1)), None)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        filler = Filler(
            "sqlite",
            lambda statement: db.execute(statement).fetchall(),
            lambda table: [name for _, name, *_ in db.execute(f"PRAGMA table_info ({table})")],
        )
        filler.copy("ask_1", 10, 1_100)
        db.execute("DELETE FROM asks_words_data WHERE id > 10")  # all but how the index is made up
    page = await store.search.find(Search(split_words("Ste app")), None, 5)
    assert [ask.id for ask in page.rows] == [f"ask_{number}" for number in range(1_109, 1_104, -1)]
    await store.close()


def test_sqlite_indexes_every_word_whole(tmp_path: Path) -> None:
    """Its own idea of what a word is must part none that `split_words` leaves whole.

    Unicode assigns nothing in the planes 4 to 13, and 15 and 16 are for private use: of those, a sample is enough.
    """
    assigned = chain(range(0xD800), range(0xE000, 0x40000), range(0xE0000, 0xF0000))
    characters = map(chr, chain(assigned, range(0x40000, sys.maxunicode + 1, 97)))
    indexed = {f"a{word}a" for each in characters for word in split_words(each)}
    with closing(sqlite3.connect(tmp_path / "a.db")) as db:
        db.execute(schema.SEARCHED[0])
        db.execute("INSERT INTO asks_words (rowid, words) VALUES (2, ?)", (" ".join(indexed),))
        db.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (asks_words, row)")
        assert {term for (term,) in db.execute("SELECT term FROM terms")} == indexed
