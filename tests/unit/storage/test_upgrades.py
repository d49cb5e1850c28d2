"""Data of the first versions is upgraded, and one that still runs on the same database goes on undisturbed.

`tests/data/first` holds an SQLite file and a PostgreSQL database that the first versions of their schemas wrote, as
SQL; and each statement, with its values, that the first version for PostgreSQL went on to run there.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from answerback.core.ask import Status
from answerback.ports.claims import Claim
from answerback.ports.search import Search
from answerback.ports.store import Store, Write
from answerback_postgres.connections import Connection, connect
from answerback_postgres.store import PostgresStore
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import answer_decision, end_decision
from tests import postgres

NEW = Claim("new", 60.0)


@pytest.fixture
def first(data: Path) -> Path:
    """The directory with what the first versions wrote."""
    return data / "first"


@pytest.fixture
async def url(first: Path, postgres_server: postgres.Server) -> AsyncIterator[str]:
    """A PostgreSQL database as the first version left it."""
    with postgres_server.database() as name:
        written = (first / "postgresql.sql").read_text("utf-8")
        postgres_server.run(written, name)
        yield postgres_server.url(name)


async def check_everything_works(store: Store) -> None:
    """Check that everything is there, that people and agents can act on it, and that newer features work."""
    ask = await store.asks.get("ask_1")
    assert ask is not None
    assert (ask.placement.message, ask.schedule.expires_at) == ({"id": "1"}, 5_001.0)
    assert [one.id for one in (await store.asks.page(status=Status.OPEN)).rows][-1] == "ask_1"
    assert await store.drafts.get("draft") is not None
    assert (await store.messages.list_outdated(9))[0] == "ask_3"
    before = len(await store.record.read("ask_1"))
    steps = len(ask.walk.answers)
    await store.asks.change("ask_1", answer_decision(True if steps == 0 else "so"))
    assert len(await store.record.read("ask_1")) > before
    assert {"ask_1", "ask_3"} <= set(await store.messages.list_outdated(9))
    assert await store.claims.claim_due(NEW, 9_000.0, 9)
    assert await store.claims.claim_message("ask_1", NEW) is not None
    (stored,) = await store.outbox.claim(NEW, 9_000.0, 9)
    assert (await store.erasure.erase(stored.delivery.ask_id, 3_000.0, frozenset())) is not None
    assert (await _found(store))[-1].id == "ask_1"
    await store.asks.create(Write(new_ask(9)), None)
    assert (await _found(store))[0].id == "ask_9"
    assert await store.leases.take("discord gateway", NEW) == 1
    await store.asks.change("ask_9", end_decision())


async def _found(store: Store) -> Sequence[Any]:
    return (await store.search.find(Search(terms=("migration",)), None, 9)).rows


@pytest.mark.rule("DATA-23")
async def test_a_file_of_the_first_version_is_upgraded(
    first: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    path = tmp_path / "answerback.db"
    connection = sqlite3.connect(path)
    connection.executescript((first / "sqlite.sql").read_text("utf-8"))
    connection.close()
    store = SqliteStore(path)
    await store.open()
    connection = sqlite3.connect(path)
    for ask_id in ("ask_1", "ask_2", "ask_3", "ask_4"):
        of_it = connection.execute(
            "SELECT seq FROM record WHERE ask_id = ? ORDER BY seq", (ask_id,)
        )
        assert [line.seq for line in await store.record.read(ask_id)] == [seq for (seq,) in of_it]
    connection.close()
    await check_everything_works(store)
    await store.close()
    again = SqliteStore(path)
    await again.open()
    _check_logged_once(caplog)
    counts = await again.counts()
    assert (counts["open"], counts["answered"], counts["withdrawn"]) == (1, 2, 1)
    await again.close()


@pytest.mark.rule("DATA-23")
async def test_a_database_of_the_first_version_is_upgraded(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    store = PostgresStore(url)
    await store.open()
    await check_everything_works(store)
    await store.close()
    again = PostgresStore(url)
    await again.open()
    await again.close()
    _check_logged_once(caplog)


async def test_a_new_database_is_not_called_upgraded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    store = SqliteStore(tmp_path / "answerback.db")
    await store.open()
    await store.close()
    assert "upgraded" not in caplog.text


def _check_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """Check that the log says once that the schema was upgraded, and to what."""
    (line,) = [each for each in caplog.records if vars(each).get("action") == "schema_upgraded"]
    assert line.levelno == logging.INFO
    assert line.getMessage().startswith("The database's schema was upgraded: ")


@pytest.mark.rule("DATA-23")
async def test_the_first_version_keeps_working_while_a_newer_one_upgrades_its_database(
    url: str, first: Path
) -> None:
    written = json.loads((first / "postgresql.json").read_text("utf-8"))
    old, store = await connect(url), PostgresStore(url)
    reads = [one for one in written if one["statement"].startswith("SELECT")]
    for _ in range(5):  # often enough to be prepared, with the columns of that time
        for one in reads:
            await _run(old, one)
    upgrading = asyncio.create_task(store.open())
    while not upgrading.done():
        await _run(old, reads[0])
    await upgrading
    for one in written:
        assert await _run(old, one) == one["rows"], one["does"]
    await old.close()
    # What the old version did counts for the new one, and vice versa.
    ask = await store.asks.get("ask_1")
    assert ask is not None
    assert [given.value for given in ask.walk.answers] == [True]
    assert ask.placement.shown_revision == ask.revision == 2
    ended, submitted = await store.asks.get("ask_2"), await store.asks.get("ask_4")
    assert ended is not None
    assert submitted is not None
    assert (ended.status, submitted.status) == (Status.WITHDRAWN, Status.OPEN)
    assert await store.claims.claim_message("ask_4", NEW) is None, "the old one holds it"
    assert await store.leases.take("discord gateway", NEW) is None
    assert await store.drafts.get("draft") == {"why": "more"}
    counts = await store.counts()
    assert (counts["open"], counts["withdrawn"], counts["pending"]) == (2, 2, 2)
    await store.asks.change("ask_4", answer_decision(True))
    await store.close()


async def _run(connection: Connection, one: dict[str, Any]) -> int:
    """Return how many rows a statement of the first version returns."""
    values = [bytes.fromhex(v["hex"]) if isinstance(v, dict) else v for v in one["values"]]
    try:
        cursor = await connection.execute(one["statement"].encode(), values)
    except psycopg.Error as error:
        raise AssertionError(f"it {one['does']}: {error}") from error
    return len(await cursor.fetchall()) if cursor.description else 0
