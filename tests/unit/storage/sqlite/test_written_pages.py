"""The pages that a commit writes to the SQLite file: those of what has changed, and no index of what has not."""

from __future__ import annotations

import asyncio
import sqlite3
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.ports.store import Decision, Write
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import new_ask, with_values
from answerback_testing.store_examples import end_decision

_FRAME_HEAD = struct.Struct(">I20x")
"""The number of the page, in the log: https://www.sqlite.org/fileformat2.html#the_write_ahead_log"""


class Log:
    """The bytes that are written to the file from now on, as its write-ahead log tells."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(f"{path.name}-wal")
        with closing(sqlite3.connect(path)) as db:
            # Each table is so small that it has a single page.
            self._names = dict(db.execute("SELECT rootpage, name FROM sqlite_schema"))
            (self._page_size,) = db.execute("PRAGMA page_size").fetchone()
        self._start = self._path.stat().st_size

    def written(self) -> set[str]:
        """Return the names of the tables and indexes that were written."""
        log, size = self._path.read_bytes(), _FRAME_HEAD.size + self._page_size
        frames = range(self._start, len(log), size)
        return {self._names[_FRAME_HEAD.unpack_from(log, frame)[0]] for frame in frames}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file."""
    return tmp_path / "answerback.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    """A store with an open ask, which has a deadline."""
    store = SqliteStore(path)
    await store.open()
    await store.asks.create(Write(with_values(new_ask(1), expires_at=9_000.0)), None)
    await store.asks.change("ask_1", placed(shown_revision=1))
    yield store
    await store.close()


def placed(**values: Any) -> Callable[[Ask | None], Decision[None]]:
    """Return the decision that stores an ask with these values of its place."""

    def decide(ask: Ask | None) -> Decision[None]:
        assert ask is not None
        return Decision(Write(replace(ask, placement=replace(ask.placement, **values))), None)

    return decide


def collect(ask: Ask | None) -> Decision[None]:
    """Note that the agent has read the outcome."""
    assert ask is not None
    return Decision(
        Write(replace(ask, collection=replace(ask.collection, read_by_agent_at=3_000.0))), None
    )


async def test_noting_where_an_ask_is_shown_writes_no_index_of_its_status(
    store: SqliteStore, path: Path
) -> None:
    log = Log(path)
    await store.asks.change("ask_1", placed(message={"id": "1.1"}, was_visible=True))
    assert log.written() == {"asks", "asks_by_message"}


async def test_the_end_of_an_ask_writes_no_index_of_its_place(
    store: SqliteStore, path: Path
) -> None:
    log = Log(path)
    await store.asks.change("ask_1", end_decision())
    by_status = {"asks_by_status", "asks_by_surface_status", "asks_to_erase", "asks_due"}
    assert {each for each in log.written() if each.startswith("asks_")} >= by_status
    assert "asks_by_surface" not in log.written()


async def test_noting_that_an_outcome_was_read_writes_no_index_of_when_asks_ended(
    store: SqliteStore, path: Path
) -> None:
    await store.asks.change("ask_1", end_decision())
    await store.asks.change("ask_1", placed(shown_revision=2))
    log = Log(path)
    await store.asks.change("ask_1", collect)
    assert log.written() == {"asks"}


@pytest.mark.rule("LATE-5")
async def test_what_an_agent_has_seen_is_written_with_the_next_change(
    store: SqliteStore, path: Path
) -> None:
    await store.asks.change("ask_1", end_decision())
    log = Log(path)
    noting = asyncio.create_task(store.asks.change("ask_1", collect, within=60.0))
    await store.asks.get("ask_1")
    assert log.written() == set()
    await store.asks.create(Write(new_ask(2)), None)
    await noting
    assert (await stored(store)).collection.read_by_agent_at == 3_000.0


async def stored(store: SqliteStore) -> Ask:
    """Return the ask as it is stored."""
    ask = await store.asks.get("ask_1")
    assert ask is not None
    return ask
