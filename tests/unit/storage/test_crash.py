"""A process that is killed at any moment loses nothing that it acknowledged, and does nothing twice."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from answerback_testing.store_examples import read_only_decision
from tests.acceptance.forked_process import CONTEXT
from tests.postgres import STORES, database_of, store_at
from tests.unit.storage import crash_writer
from tests.unit.storage.crash_writer import CLIENTS

KILLS = int(os.environ.get("STORE_KILLS", "6"))


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with database_of(request, tmp_path) as url:
        yield url


def kill_after(url: str, start: int, lines: int) -> list[str]:
    """Start the writer, kill it with SIGKILL after the given number of acknowledgements, and return all of those."""
    reads, writes = CONTEXT.Pipe(duplex=False)
    writer = CONTEXT.Process(target=crash_writer.write, args=(url, str(start), writes))
    writer.start()
    writes.close()
    with reads, open(reads.fileno(), "rb", closefd=False) as pipe:
        try:
            lines_read = [pipe.readline() for _ in range(lines)]
        finally:
            writer.kill()
        lines_read += pipe.readlines()
    writer.join()
    return [line.decode().strip() for line in lines_read if line.endswith(b"\n")]


@pytest.mark.rule("DATA-1")
async def test_a_killed_process_loses_nothing_acknowledged_and_repeats_nothing(
    url: str, tmp_path: Path
) -> None:
    file = tmp_path / "answerback.db"
    chance = random.Random(7)
    acknowledged: list[str] = []
    for start in range(KILLS):
        acknowledged_now = await asyncio.to_thread(kill_after, url, start, chance.randrange(1, 400))
        assert acknowledged_now
        acknowledged += acknowledged_now
        if file.exists():
            with closing(sqlite3.connect(file)) as check:
                assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        store = store_at(url)
        await store.open()
        for line in acknowledged_now:
            ask_id, delivery = line.split()
            assert (await store.asks.change(ask_id, read_only_decision, delivery=delivery))[1], line
        for number in range(CLIENTS):
            ask = await store.asks.get(f"ask_{number}")
            if ask is None:
                continue
            record = await store.record.read(ask.id, limit=1_000_000)
            assert len(record) == ask.revision - 1
            mine = sum(line.startswith(f"{ask.id} ") for line in acknowledged)
            # Each kill may leave one unacknowledged change per client on disk.
            assert mine <= ask.revision - 1 <= mine + start + 1
        await store.close()
    assert len(acknowledged) == len(set(acknowledged))
