"""The changes that an export follows in PostgreSQL: by transactions, which may commit in another order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from answerback.core.ask import RecordEntry
from answerback.core.errors import StoreError
from answerback.ports.store import Write
from answerback_postgres import store as postgres_store
from answerback_postgres.store import PostgresStore
from answerback_storage.record import SqlRecord
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import PATIENCE

RESTORED = ("ask_1", "ask_2", "ask_3", "ask_4", "ask_5")


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


@pytest.fixture
async def restored(
    store: PostgresStore, database: str, monkeypatch: pytest.MonkeyPatch
) -> PostgresStore:
    """A store with five lines that another server has numbered, of which two are renumbered at once."""
    monkeypatch.setattr(postgres_store, "RENUMBERED_AT_ONCE", 2)
    for number in range(1, 6):
        await store.asks.create(Write(new_ask(number), (RecordEntry(at=1.0, kind="note"),)), None)
    with psycopg.connect(database) as server:
        server.execute("UPDATE record SET tx = tx + 1000000000")
    return store


@pytest.mark.rule("API-19")
async def test_what_was_restored_is_renumbered_in_steps_that_need_not_be_repeated(
    restored: PostgresStore, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One statement for the whole record would take longer than a statement may."""
    execute, steps = restored.database.execute, 0

    async def fail_once(statement: str, *values: object) -> list[Any]:
        nonlocal steps
        steps += 1
        if steps == 2:
            raise StoreError("the server restarts")
        return await execute(statement, *values)

    monkeypatch.setattr(restored.database, "execute", fail_once)
    with pytest.raises(StoreError, match="restarts"):
        await restored.record.list_changed("", 10)
    changed = await restored.record.list_changed("", 10)
    assert changed.ids == RESTORED
    assert steps == 2 + 2 + 1, "the last one finds nothing left"
    with psycopg.connect(database) as server:
        lines = "SELECT count(*) FROM record GROUP BY tx ORDER BY tx"
        assert server.execute(lines).fetchall() == [(2,), (2,), (1,)]
    assert (await restored.record.list_changed(changed.after, 10)).ids == ()
    assert steps == 5


@pytest.mark.rule("API-19")
async def test_an_export_between_two_steps_skips_nothing(
    restored: PostgresStore, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, execute, ids, after = PostgresStore(database), restored.database.execute, list[str](), ""
    await other.open()

    async def export() -> None:
        nonlocal after
        changed = await SqlRecord.list_changed(other.record, after, 10)
        after = changed.after
        ids.extend(changed.ids)

    async def export_after(statement: str, *values: object) -> list[Any]:
        done = await execute(statement, *values)
        await export()
        if len(ids) == 2:
            await other.record.add("ask_9", RecordEntry(at=1.0, kind="note"))
        return done

    monkeypatch.setattr(restored.database, "execute", export_after)
    everything = await restored.record.list_changed("", 10)
    assert ids == ["ask_1", "ask_2", "ask_9", *RESTORED[2:]]
    assert everything.ids == tuple(ids)
    assert (await other.record.list_changed(everything.after, 10)).ids == ()
    await other.close()


@pytest.mark.rule("API-19", "DATA-20")
async def test_replicas_that_renumber_at_once_leave_each_others_lines_alone(
    restored: PostgresStore, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cursor that one of them has returned would otherwise be unknown."""
    monkeypatch.setattr(postgres_store, "RENUMBERED_AT_ONCE", 10)
    other = PostgresStore(database)
    await other.open()
    waiting = """SELECT backend_xid::text::bigint FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'"""
    exports, writers = list[asyncio.Task[Any]](), list[tuple[int]]()
    with psycopg.connect(database) as busy, psycopg.connect(database, autocommit=True) as server:
        busy.execute("SELECT 1 FROM record WHERE ask_id = 'ask_1' FOR UPDATE")
        for each in (restored, other):
            exports.append(asyncio.create_task(each.record.list_changed("", 10)))
            async with asyncio.timeout(PATIENCE):
                while len(found := server.execute(waiting).fetchall()) < len(exports):  # noqa: ASYNC110 - nothing tells of it
                    await asyncio.sleep(0.01)
            writers = writers or found
        busy.commit()
        first, second = await asyncio.gather(*exports)
        assert first == second
        assert first.ids == RESTORED
        assert server.execute("SELECT DISTINCT tx FROM record").fetchall() == writers
    await other.close()
