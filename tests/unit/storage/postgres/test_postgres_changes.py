"""The changes that an export follows in PostgreSQL: by transactions, which may commit in another order."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import psycopg
import pytest

from answerback.core.ask import RecordEntry
from answerback.ports.store import Write
from answerback_postgres.store import PostgresStore
from answerback_testing.example_asks import new_ask


@pytest.fixture
async def store(database: str) -> AsyncIterator[PostgresStore]:
    opened = PostgresStore(database)
    await opened.open()
    yield opened
    await opened.close()


@pytest.mark.rule("API-19")
async def test_a_change_is_listed_once_all_before_it_are_committed(
    store: PostgresStore, database: str
) -> None:
    """A cursor behind the newer change would otherwise skip the older one."""
    note = RecordEntry(at=1_000.0, kind="note")
    for number in (1, 2):
        await store.asks.create(Write(new_ask(number), (note,)), None)
    before = await store.record.list_changed("", 10)
    assert before.ids == ("ask_1", "ask_2")
    with psycopg.connect(database) as slow:
        slow.execute(
            "INSERT INTO record (ask_id, at, kind, entry) SELECT ask_id, at, kind, entry FROM record"
            " WHERE ask_id = 'ask_1'"
        )
        await store.record.add("ask_2", note)
        assert await store.record.list_changed(before.after, 10) == replace(before, ids=())
    assert (await store.record.list_changed(before.after, 10)).ids == ("ask_1", "ask_2")


@pytest.mark.rule("API-19")
async def test_what_was_restored_from_another_server_counts_as_changed(
    store: PostgresStore, database: str
) -> None:
    """That server may have been many transactions ahead."""
    note = RecordEntry(at=1_000.0, kind="note")
    for number in (1, 2):
        await store.asks.create(Write(new_ask(number), (note,)), None)
    old = await store.record.list_changed("", 10)
    with psycopg.connect(database) as server:
        server.execute("UPDATE record SET tx = tx + 1000000000 WHERE ask_id = 'ask_2'")
    restarted = PostgresStore(database)
    await restarted.open()
    assert (await restarted.record.list_changed("", 10)).ids == ("ask_1", "ask_2")
    with pytest.raises(ValueError, match="start over"):
        await restarted.record.list_changed(old.after, 10)
    await restarted.close()
