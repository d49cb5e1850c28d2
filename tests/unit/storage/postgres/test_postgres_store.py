"""The PostgreSQL store with other stores on the same database, with unreadable rows, and with bugs of ours."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from answerback.core.ask import Ask, RecordEntry, Thread
from answerback.core.errors import CommitUnknownError, StoreError, UnreadableRowError
from answerback.ports.claims import Claim
from answerback.ports.late_answers import LateAnswerQuery, SeenState
from answerback.ports.store import Decision, Write
from answerback.ports.store_values import AskLimits, Created, Existing, Idempotency
from answerback.ports.surface import Shown
from answerback_postgres import change_batches, connections
from answerback_postgres import store as postgres_store
from answerback_postgres.store import PostgresStore
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import (
    answer_decision,
    answer_if_at_revision,
    new_delivery,
    read_only_decision,
)
from tests.service_support import WAIT

ANN = Claim("ann", 60.0)
INDEXED = """SELECT DISTINCT attname AS name FROM pg_index
    JOIN pg_depend ON objid = indexrelid AND refobjid = indrelid
    JOIN pg_attribute ON attrelid = indrelid AND attnum = refobjsubid
    WHERE indrelid = 'asks'::regclass"""
"""The columns of asks that an index uses, including in its condition."""


@pytest.fixture
async def stores(database: str) -> AsyncIterator[tuple[PostgresStore, PostgresStore]]:
    """The stores of two processes on one database."""
    both = PostgresStore(database), PostgresStore(database)
    for store in both:
        await store.open()
    yield both
    for store in both:
        await store.close()


@pytest.fixture
def store(stores: tuple[PostgresStore, PostgresStore]) -> PostgresStore:
    return stores[0]


def run(database: str, statement: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(statement.encode())


def read(database: str, statement: str) -> list[dict[str, Any]]:
    with psycopg.connect(database, row_factory=dict_row) as connection:
        return connection.execute(statement.encode()).fetchall()


@pytest.mark.rule("WALK-15")
async def test_of_two_processes_at_the_same_revision_exactly_one_changes_the_ask(
    stores: tuple[PostgresStore, PostgresStore],
) -> None:
    await stores[0].asks.create(Write(new_ask()), None)
    for revision in range(1, 101):
        results = await asyncio.gather(
            *(store.asks.change("ask_1", answer_if_at_revision(revision)) for store in stores)
        )
        assert sorted(result for result, _ in results) == [False, True]


@pytest.mark.rule("ACT-7")
async def test_a_delivery_received_by_two_processes_at_once_counts_once(
    stores: tuple[PostgresStore, PostgresStore],
) -> None:
    await stores[0].asks.create(Write(new_ask(1)), None)
    await stores[0].asks.create(Write(new_ask(2)), None)
    for number in range(50):
        results = await asyncio.gather(
            stores[0].asks.change("ask_1", stepping, delivery=f"Ev{number}"),
            stores[1].asks.change("ask_2", stepping, delivery=f"Ev{number}"),
        )
        assert sorted(repeated for _, repeated in results) == [False, True]
    first, second = await stores[0].asks.get("ask_1"), await stores[0].asks.get("ask_2")
    assert first is not None
    assert second is not None
    assert first.revision + second.revision == 52


@pytest.mark.rule("SUBMIT-3")
async def test_a_key_submitted_by_two_processes_at_once_creates_one_ask(
    stores: tuple[PostgresStore, PostgresStore],
) -> None:
    for number in range(20):
        key = Idempotency("coder", f"k{number}", "d")
        results = await asyncio.gather(
            *(stores[n].asks.create(Write(new_ask(f"{number}-{n}")), key) for n in (0, 1))
        )
        assert [isinstance(one, Existing) for one in results].count(True) == 1
        assert len({one.ask.id for one in results if isinstance(one, Created | Existing)}) == 1


async def test_a_key_that_is_pruned_at_the_same_moment_is_retried(
    store: PostgresStore, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = Idempotency("coder", "k", "d")
    await store.asks.create(Write(new_ask(1)), key)

    async def forget(_key: Idempotency) -> None:
        await asyncio.to_thread(run, database, "DELETE FROM idempotency")

    monkeypatch.setattr(store.asks, "_existing", forget)
    created = await store.asks.create(Write(new_ask(2)), key)
    assert created == Created(new_ask(2))


@pytest.mark.rule("LIMIT-1")
async def test_the_limits_of_an_agent_hold_for_all_processes_together(
    stores: tuple[PostgresStore, PostgresStore],
) -> None:
    limits = AskLimits(asks_per_minute=7, open_asks=5)
    asked = [new_ask(n, request={"agent": "coder"}) for n in range(40)]
    results = await asyncio.gather(
        *(stores[n % 2].asks.create(Write(ask), None, limits) for n, ask in enumerate(asked))
    )
    assert sum(isinstance(result, Created) for result in results) == 5


async def test_a_change_that_keeps_losing_races_fails_with_an_explanation(
    stores: tuple[PostgresStore, PostgresStore],
    database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(change_batches, "MAX_TRIES", 2)
    await stores[0].asks.create(Write(new_ask()), None)

    def decide(ask: Ask | None) -> Decision[Ask]:
        with psycopg.connect(database, autocommit=True) as other:  # blocks the loop for a moment
            other.execute(b"UPDATE asks SET version = version + 1")
        return stepping(ask)

    with pytest.raises(StoreError, match="during each of the 2 attempts"):
        await stores[0].asks.change("ask_1", decide)


async def test_a_change_that_cannot_be_stored_does_not_fail_the_rest_of_its_batch(
    store: PostgresStore, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(6):
        await store.asks.create(Write(new_ask(number)), None)
    delivery = new_delivery(1)
    outcomes = await asyncio.gather(
        *(store.asks.change(f"ask_{n}", answer_decision(deliveries=(delivery,))) for n in range(2)),
        *(store.asks.change(f"ask_{n}", answer_decision()) for n in range(2, 5)),
        store.asks.change("ask_5", surrogate),
        store.asks.change("ask_5", read_only_decision),
        return_exceptions=True,
    )
    assert sum(isinstance(one, StoreError) for one in outcomes[:2]) == 1
    assert not any(isinstance(one, BaseException) for one in outcomes[2:5])
    assert isinstance(outcomes[5], StoreError)
    assert outcomes[6] == (new_ask(5), False)


async def test_a_failing_callback_affects_nothing_else(
    store: PostgresStore, caplog: pytest.LogCaptureFixture
) -> None:
    await store.asks.create(Write(new_ask()), None)

    def fail(_ask: Ask) -> None:
        raise LookupError

    moved, _ = await store.asks.change("ask_1", answer_decision(), then=fail)
    assert moved.revision == 2
    assert "A callback failed after a write" in caplog.text


async def test_a_decision_that_stores_another_ask_raises_and_stores_nothing(
    store: PostgresStore,
) -> None:
    await store.asks.create(Write(new_ask(1)), None)

    def swap(_ask: Ask | None) -> Decision[None]:
        return Decision(Write(new_ask(2)), None)

    for name in ("ask_1", "ask_2"):
        with pytest.raises(AssertionError):
            await store.asks.change(name, swap)
    assert await store.asks.get("ask_2") is None


@pytest.mark.rule("RECORD-4")
async def test_the_record_is_append_only(store: PostgresStore, database: str) -> None:
    await store.record.add("ask_1", RecordEntry(at=1.0, kind="note"))
    for statement in ("DELETE FROM record", "UPDATE record SET at = 0", "TRUNCATE record"):
        with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
            await asyncio.to_thread(run, database, statement)


@pytest.mark.rule("DATA-12")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE asks SET state = '{}' WHERE id = 'ask_1'",
        "DELETE FROM requests WHERE seq = (SELECT seq FROM asks WHERE id = 'ask_1')",
        "UPDATE requests SET request = '{}' WHERE seq = (SELECT seq FROM asks WHERE id = 'ask_1')",
    ],
)
async def test_an_unreadable_ask_does_not_affect_others(
    stores: tuple[PostgresStore, PostgresStore],
    database: str,
    statement: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for number in range(3):
        write = Write(new_ask(number), deliveries=(new_delivery(number),))
        await stores[0].asks.create(write, None)
    await asyncio.to_thread(run, database, statement)
    store = stores[1]  # it has read nothing yet
    with pytest.raises(UnreadableRowError, match="ask_1"):
        await store.asks.get("ask_1")
    outcome, other = await asyncio.gather(
        store.asks.change("ask_1", read_only_decision),
        store.asks.change("ask_2", read_only_decision),
        return_exceptions=True,
    )
    assert isinstance(outcome, UnreadableRowError)
    assert other == (new_ask(2), False)
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            assert [ask.id for ask in (await store.asks.page(limit=2)).rows] == ["ask_2", "ask_0"]
            found = await store.messages.find_open("slack", "C1", None, 2)
            assert [ask.id for ask in found] == ["ask_2", "ask_0"]
    assert caplog.text.count("is skipped") == 1


async def test_an_unreadable_delivery_is_skipped(store: PostgresStore, database: str) -> None:
    await store.asks.create(Write(new_ask(), deliveries=(new_delivery(),)), None)
    await asyncio.to_thread(run, database, "UPDATE deliveries SET state = 'lost'")
    page = await store.outbox.page(state=None, agent=None, after=None, limit=5)
    assert page.rows == ()


async def test_a_clock_set_back_reschedules_everything_once(
    stores: tuple[PostgresStore, PostgresStore],
) -> None:
    remind = {"remind_after": (60.0,)}
    await stores[0].asks.create(Write(new_ask(1, at=9_000.0, request=remind)), None)
    await stores[0].asks.create(Write(new_ask(2, at=4_999.0, request=remind)), None)
    delivery = new_delivery(at=9_000.0)
    await stores[0].asks.create(Write(new_ask(3, at=9_000.0), deliveries=(delivery,)), None)
    await asyncio.gather(*(store.maintenance.shift_schedule(4_000.0, 5_000.0) for store in stores))
    first = await stores[0].asks.get("ask_1")
    assert first is not None
    assert first.schedule.clock_set_back == 4_000.0
    assert await stores[0].claims.next_due(0.0) == 5_059.0
    assert await stores[0].claims.next_due(5_059.0) == 5_060.0
    assert await stores[0].outbox.next_due() == 5_000.0
    assert await stores[0].record.last_time() == 5_000.0


async def test_late_answers_are_listed_past_unreadable_asks(
    store: PostgresStore, database: str
) -> None:
    for number in range(3):
        await store.asks.create(Write(new_ask(number, request={"agent": "a"}), owed=True), None)
    await asyncio.to_thread(run, database, "UPDATE asks SET state = '{}' WHERE id = 'ask_0'")
    owed = await store.late_answers.list_owed(LateAnswerQuery("a", limit=1), 1.0)
    assert [one.ask.id for one in owed] == ["ask_1"]
    assert await store.late_answers.set_seen_state([], SeenState.SEEN, 1.0) == []


async def test_closing_finishes_submitted_changes(store: PostgresStore) -> None:
    await store.asks.create(Write(new_ask()), None)
    change = asyncio.create_task(store.asks.change("ask_1", answer_decision()))
    await asyncio.sleep(0)
    await store.close()
    moved, _ = await change
    with pytest.raises(StoreError, match="not open"):
        await store.asks.change("ask_1", read_only_decision)
    await store.open()
    assert await store.asks.get("ask_1") == moved


@pytest.mark.rule("CLAIM-8")
async def test_a_process_is_notified_of_others_changes_but_not_its_own(
    stores: tuple[PostgresStore, PostgresStore],
) -> None:
    notifications: asyncio.Queue[str | None] = asyncio.Queue()
    stores[0].changes.listen(notifications.put_nowait)
    await stores[0].asks.create(Write(new_ask(1)), None)
    await stores[0].notifier._notify(["ask_1"])  # before the other process notifies
    await stores[1].asks.create(Write(new_ask(2)), None)
    names = []
    async with asyncio.timeout(WAIT):
        while "ask_2" not in names:
            names.append(await notifications.get())
    assert "ask_1" not in names


async def test_storing_nothing_takes_no_statement(store: PostgresStore) -> None:
    await store.outbox.save_results([], [])
    await store.outbox.save_results([], [("ask_1", RecordEntry(at=1.0, kind="note"))])
    assert len(await store.record.read("ask_1")) == 1


async def test_a_click_and_its_message_update_change_no_indexed_column(
    store: PostgresStore, database: str
) -> None:
    """So the server rewrites no index entry: https://www.postgresql.org/docs/current/storage-hot.html."""
    indexed = {one["name"] for one in read(database, INDEXED)}
    assert {"status", "surface", "due", "settled_at", "erased_at"} <= indexed
    thread = Thread(channel="C1", id="1")
    await store.asks.create(Write(new_ask(expires_at=9_000.0)), None)
    await store.asks.save_shown("ask_1", Shown(1, {"id": "1"}, thread))
    (before,) = read(database, "SELECT * FROM asks")
    await store.asks.change("ask_1", answer_decision(True))
    (clicked,) = read(database, "SELECT * FROM asks")
    assert await store.messages.list_outdated(9) == ["ask_1"]
    await store.asks.save_shown("ask_1", Shown(2, {"id": "1"}, thread))
    (recorded,) = read(database, "SELECT * FROM asks")
    assert await store.messages.list_outdated(9) == []
    for old, new, changed in ((before, clicked, "revision"), (clicked, recorded, "shown_revision")):
        changes = {name for name in old if old[name] != new[name]}
        assert changed in changes
        assert not changes & indexed


def stepping(ask: Ask | None) -> Decision[Ask]:
    assert ask is not None
    moved = replace(ask, revision=ask.revision + 1)
    return Decision(Write(moved), moved)


def surrogate(ask: Ask | None) -> Decision[Ask | None]:
    assert ask is not None
    return Decision(
        Write(replace(ask, placement=replace(ask.placement, message={"a": "\ud800"}))), ask
    )


@pytest.mark.rule("DATA-15")
async def test_a_clock_change_noticed_by_every_process_is_applied_once(
    stores: tuple[PostgresStore, PostgresStore], database: str
) -> None:
    reminded = {"remind_after": (60.0,)}
    await stores[0].asks.create(Write(new_ask(1, at=100_000.0, request=reminded)), None)
    await asyncio.gather(
        stores[0].maintenance.shift_schedule(3_600.0, 96_400.0),
        stores[1].maintenance.shift_schedule(3_600.1, 96_407.0),
    )
    await stores[1].maintenance.shift_schedule(
        3_599.9, 96_400.0 + postgres_store._SAME_CLOCK_CHANGE
    )
    assert await stores[0].claims.next_due(0.0) in {96_460.0, 100_060.0 - 3_600.1}
    again = 96_407.0 + 2 * postgres_store._SAME_CLOCK_CHANGE
    await stores[1].maintenance.shift_schedule(1_000.0, again)
    assert await stores[0].claims.next_due(0.0) in {95_460.0, 99_060.0 - 3_600.1}


@pytest.mark.rule("CLAIM-12")
async def test_a_process_paused_in_a_transaction_blocks_no_other(
    stores: tuple[PostgresStore, PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "IDLE_TRANSACTION_TIMEOUT", 1.0)
    await stores[0].asks.create(Write(new_ask()), None)
    transaction = stores[0].database.connections.transaction()
    connection = await transaction.__aenter__()
    await connection.execute(b"SELECT 1 FROM asks FOR UPDATE")
    moved, _ = await stores[1].asks.change("ask_1", answer_decision())
    with pytest.raises(StoreError, match="paused in the middle of a transaction") as error:
        await transaction.__aexit__(None, None, None)
    assert not isinstance(error.value, CommitUnknownError), "none of it is stored"
    assert await stores[0].asks.get("ask_1") == moved


async def test_many_changes_are_announced_in_few_notifications(
    store: PostgresStore, database: str
) -> None:
    names = [f"ask_{number:024x}" for number in range(120)]
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as other:
        await other.execute("LISTEN answerback")
        for name in names:
            store.changes.announce(name)
        received = [each.payload async for each in other.notifies(timeout=WAIT, stop_after=3)]
    assert len(received) == 3
    assert [name for each in received for name in each.partition(" ")[2].split("\n")] == names
