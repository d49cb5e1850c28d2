"""The record in the SQLite file: the lines of each ask are linked, however they were added."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from answerback.core.ask import RecordEntry
from answerback.core.errors import StoreError
from answerback.ports.store import Write
from answerback.ports.store_values import StoredEntry
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import answer_decision, answer_if_at_revision, end_decision

MANY = 42
"""Asks that change together. With two lines each, they need more than one statement."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file."""
    return tmp_path / "answerback.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    """A store with many open asks."""
    store = SqliteStore(path)
    await store.open()
    for number in range(MANY):
        await store.asks.create(Write(new_ask(number)), None)
    yield store
    await store.close()


@pytest.mark.rule("RECORD-4")
async def test_asks_that_change_together_keep_their_lines_apart(
    store: SqliteStore, path: Path
) -> None:
    ids = [f"ask_{number}" for number in range(MANY)]
    note = RecordEntry(at=3.0, kind="note", body={"a": 1})
    await asyncio.gather(
        *(store.asks.change(each, answer_decision(), delivery=f"d:{each}") for each in ids[1:]),
        store.record.add(None, note),
        *(store.record.add(each, note) for each in ids[::7]),
    )
    ends = (store.asks.change(each, end_decision(), delivery=f"e:{each}") for each in ids[2::3])
    moves = (store.asks.change(each, answer_if_at_revision(2)) for each in ids[1::3])
    await asyncio.gather(*(change for pair in zip(ends, moves, strict=True) for change in pair))
    other = sqlite3.connect(path)
    for each in ids:
        found = other.execute("SELECT seq, kind FROM record WHERE ask_id = ?", (each,)).fetchall()
        lines = await store.record.read(each)
        assert [(line.seq, line.entry.kind) for line in lines] == found
        pages: list[StoredEntry] = []
        after = 0
        while page := await store.record.read(each, after, 1):
            pages += page
            after = page[-1].seq
        assert pages == lines
    other.close()
    assert [len(await store.record.read(each)) for each in ids[:4]] == [1, 3, 4, 2]
    assert await store.record.read("ask_none") == []


@pytest.mark.rule("RECORD-4")
async def test_a_line_follows_everything_added_since_the_previous_click(
    store: SqliteStore, path: Path
) -> None:
    note = RecordEntry(at=3.0, kind="note", body={"a": 1})
    other = SqliteStore(path)
    await other.open()

    async def together() -> None:
        """A click is stored although its companion is not: the transaction with both is rolled back."""
        results = await asyncio.gather(
            store.asks.change("ask_0", answer_if_at_revision(revision)),
            store.asks.create(Write(new_ask(5)), None),
            return_exceptions=True,
        )
        assert results[0] == (True, False)
        assert isinstance(results[1], StoreError)

    between: list[Callable[[], Awaitable[object]]] = [
        lambda: store.record.add(None, note),
        lambda: store.record.add("ask_0", note),
        lambda: store.asks.change("ask_1", end_decision()),
        lambda: store.asks.change("ask_2", answer_if_at_revision(1)),
        lambda: other.record.add("ask_0", note),
        lambda: other.asks.change("ask_3", answer_if_at_revision(1)),
        together,
    ]
    revision = 1
    for add in between:
        assert await store.asks.change("ask_0", answer_if_at_revision(revision)) == (True, False)
        revision += 1
        await add()
    assert await store.asks.change("ask_0", answer_if_at_revision(revision + 1)) == (True, False)
    await other.close()
    shown = sqlite3.connect(path)
    found = shown.execute("SELECT seq FROM record WHERE ask_id = 'ask_0' ORDER BY seq").fetchall()
    shown.close()
    assert len(found) == len(between) + 4, "each click, two notes and the click that came together"
    assert [(line.seq,) for line in await store.record.read("ask_0")] == found
