"""The record in the SQLite file: each ask's lines are found one by the other, however they were added."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.core.ask import Entry
from answerback.ports.records import StoredEntry
from answerback.ports.store import Write
from answerback.testing.store_examples import answering, at_revision, ending, new_ask
from answerback_storage.sqlite.store import SqliteStore

MANY = 42
"""Asks that change together: with two lines each, more than one statement adds."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file."""
    return tmp_path / "answerback.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    """A store with many open asks."""
    made = SqliteStore(path)
    await made.open()
    for number in range(MANY):
        await made.create(Write(new_ask(number)), None)
    yield made
    await made.close()


@pytest.mark.rule("RECORD-4")
async def test_the_lines_of_asks_that_change_together_are_each_asks_own(
    store: SqliteStore, path: Path
) -> None:
    ids = [f"ask_{number}" for number in range(MANY)]
    note = Entry(at=3.0, kind="note", body={"a": 1})
    await asyncio.gather(
        *(store.change(each, answering(), delivery=f"d:{each}") for each in ids[1:]),
        store.note(None, note),
        *(store.note(each, note) for each in ids[::7]),
    )
    ends = (store.change(each, ending(), delivery=f"e:{each}") for each in ids[2::3])
    moves = (store.change(each, at_revision(2)) for each in ids[1::3])
    await asyncio.gather(*(change for pair in zip(ends, moves, strict=True) for change in pair))
    other = sqlite3.connect(path)
    for each in ids:
        found = other.execute("SELECT seq, kind FROM record WHERE ask_id = ?", (each,)).fetchall()
        lines = await store.record(each)
        assert [(line.seq, line.entry.kind) for line in lines] == found
        pages: list[StoredEntry] = []
        after = 0
        while page := await store.record(each, after, 1):
            pages += page
            after = page[-1].seq
        assert pages == lines
    other.close()
    assert [len(await store.record(each)) for each in ids[:4]] == [1, 3, 4, 2]
    assert await store.record("ask_none") == []
