"""Files that another program modified, and asks too many or too large to cache: never half stored."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.form import AnswerType, Form, Question
from answerback.ports.store import Decision, Write
from answerback_storage.sqlite.connections import _use_wal
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import answer_decision, end_decision, new_delivery


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answerback.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, busy_timeout=0.2)
    await store.open()
    yield store
    await store.close()


@pytest.mark.parametrize("telling", [False, True])
async def test_a_trigger_that_swallows_a_step_fails_it_and_leaves_no_trace(
    store: SqliteStore, path: Path, telling: bool
) -> None:
    await store.asks.create(Write(new_ask()), None)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(
            "CREATE TRIGGER hands_off BEFORE UPDATE ON asks BEGIN SELECT RAISE(IGNORE); END"
        )
        decide = answer_decision(deliveries=(new_delivery(),) if telling else ())
        with pytest.raises(StoreError, match="not at its revision"):
            await store.asks.change("ask_1", decide, delivery="Ev1")
        assert await store.asks.get("ask_1") == new_ask()
        assert await store.record.read("ask_1") == []
        assert (await store.counts()).get("pending", 0) == 0
        other.execute("DROP TRIGGER hands_off")
    moved, repeated = await store.asks.change("ask_1", decide, delivery="Ev1")
    assert not repeated
    assert await store.asks.get("ask_1") == moved


def end_without_a_line(ask: Ask | None) -> Decision[Ask]:
    """End the ask and add nothing to the record, so that the update is the first to be written."""
    decision = end_decision()(ask)
    return Decision(Write(decision.result), decision.result)


@pytest.mark.parametrize(
    "decide",
    [answer_decision("prod"), end_decision(), end_without_a_line],
    ids=["step", "end", "end without a line"],
)
async def test_a_change_that_was_decided_on_an_outdated_ask_fails_and_the_next_reads_it_again(
    store: SqliteStore, path: Path, decide: Callable[[Ask | None], Decision[Ask]]
) -> None:
    await store.asks.create(Write(new_ask()), None)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(
            "CREATE TRIGGER meddler AFTER INSERT ON seen BEGIN UPDATE asks SET revision = revision + 1; END"
        )
    first, _ = await store.asks.change("ask_1", answer_decision(), delivery="Ev1")
    with pytest.raises(StoreError, match="not at its revision"):
        await store.asks.change("ask_1", decide)
    changed = await store.asks.get("ask_1")
    assert changed == replace(first, revision=first.revision + 1)
    assert [entry.entry.kind for entry in await store.record.read("ask_1")] == [
        "answered",
        "request",
    ]
    moved, _ = await store.asks.change("ask_1", decide)
    assert await store.asks.get("ask_1") == moved


async def test_a_file_without_wal_that_is_being_read_is_reported_as_locked(
    store: SqliteStore, path: Path
) -> None:
    await store.asks.create(Write(new_ask()), None)
    await store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN")
        other.execute("SELECT * FROM asks").fetchall()
        with pytest.raises(StoreError, match="it is locked by another process"):
            await store.open()
        other.execute("ROLLBACK")
    await store.open()
    assert await store.asks.get("ask_1") == new_ask()
    moved, _ = await store.asks.change("ask_1", answer_decision())
    assert await store.asks.get("ask_1") == moved


def test_switching_to_wal_is_retried_until_the_other_connection_is_gone(path: Path) -> None:
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as reader,
        closing(sqlite3.connect(path, isolation_level=None, timeout=0.0)) as switching,
    ):
        reader.execute("CREATE TABLE t (x)")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM t").fetchall()
        tries: list[str] = []

        def trying(statement: str) -> None:
            tries.append(statement)
            if len(tries) == 3:
                reader.execute("ROLLBACK")

        switching.set_trace_callback(trying)
        _use_wal(switching, 5.0)
        switching.set_trace_callback(None)
        assert len(tries) == 3
        assert switching.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_a_call_that_is_not_text_fails_alone(
    store: SqliteStore,
) -> None:
    odd = new_ask(2, request={"metadata": {"a": "\ud800"}})
    refused, stored = await asyncio.gather(
        store.asks.create(Write(odd), None),
        store.asks.create(Write(new_ask()), None),
        return_exceptions=True,
    )
    assert isinstance(refused, StoreError)
    assert "half a surrogate pair" in str(refused)
    assert not isinstance(stored, BaseException)
    assert await store.asks.get("ask_2") is None


@pytest.mark.rule("DATA-8")
async def test_asks_that_do_not_fit_the_cache_work_normally(
    store: SqliteStore,
) -> None:
    large = Question(id="apply", text="Apply? " + "x" * 30_000, answer_type=AnswerType.BOOLEAN)
    last = Question(id="why", text="Why?", answer_type=AnswerType.TEXT)
    for number in range(300):
        form = Form(questions=(large, last)) if number % 100 == 0 else new_ask().form
        await store.asks.create(Write(new_ask(number, form=form)), None)
    for step, value in ((2, True), (3, "words")):
        numbers = range(300) if step == 2 else range(0, 300, 100)
        changes = (
            store.asks.change(f"ask_{n}", answer_decision(value), delivery=f"{step}{n}")
            for n in numbers
        )
        moved = [ask for ask, _ in await asyncio.gather(*changes)]
        assert {ask.revision for ask in moved} == {step}
        assert [await store.asks.get(ask.id) for ask in moved] == moved
