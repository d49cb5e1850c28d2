"""The SQLite store when the disk, the file or another process fails."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from answerback.core.ask import Ask
from answerback.core.errors import CommitUnknownError, StoreError
from answerback.ports.store import Decision, Write
from answerback_storage.sqlite.store import SqliteStore
from answerback_storage.sqlite.writer_thread import JobThread
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import answer_decision, new_delivery


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answerback.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, busy_timeout=0.2)
    await store.open()
    yield store
    await store.close()


async def limit_pages(store: SqliteStore, more: int) -> None:
    """Let the file grow by only the given number of pages, which is how SQLite sees a full disk."""

    def run(db: sqlite3.Connection) -> None:
        (now,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {now + more}").fetchone()

    await store.database.write(run)


@pytest.mark.rule("DATA-5")
async def test_a_locked_database_fails_writes_with_an_explanation_and_does_not_block_reads(
    store: SqliteStore, path: Path
) -> None:
    await store.asks.create(Write(new_ask()), None)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    writes = [
        asyncio.ensure_future(store.asks.change("ask_1", answer_decision())) for _ in range(3)
    ]
    assert await store.asks.get("ask_1") == new_ask()
    assert not any(write.done() for write in writes)
    for write in writes:
        with pytest.raises(StoreError, match="it is locked by another process"):
            await write
    other.execute("ROLLBACK")
    other.close()
    moved, _ = await store.asks.change("ask_1", answer_decision())
    assert await store.asks.get("ask_1") == moved


async def test_a_lock_that_is_released_in_time_fails_nothing(path: Path) -> None:
    store = SqliteStore(path, busy_timeout=5.0)
    await store.open()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    write = asyncio.ensure_future(store.asks.create(Write(new_ask()), None))
    assert await store.asks.get("ask_1") is None
    other.execute("ROLLBACK")
    other.close()
    await write
    assert await store.asks.get("ask_1") == new_ask()
    await store.close()


async def test_nothing_can_be_written_between_a_decision_and_its_write(
    store: SqliteStore, path: Path
) -> None:
    await store.asks.create(Write(new_ask()), None)

    def decide(ask: Ask | None) -> Decision[Ask]:
        other = sqlite3.connect(path, timeout=0.0)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("UPDATE asks SET revision = 9")
        other.close()
        return answer_decision()(ask)

    moved, _ = await store.asks.change("ask_1", decide)
    assert await store.asks.get("ask_1") == moved


@pytest.mark.rule("DATA-5")
async def test_a_full_disk_fails_the_write_and_keeps_stored_data(
    store: SqliteStore, path: Path
) -> None:
    await store.asks.create(Write(new_ask()), None)
    await limit_pages(store, 3)
    big = "x" * 40_000
    for _ in range(3):
        with pytest.raises(StoreError, match=r"disk is full.*Free some space"):
            await store.drafts.save("k", big, 1.0)
    assert await store.asks.get("ask_1") == new_ask()
    assert await store.drafts.get("k") is None
    await limit_pages(store, 1_000)
    await store.drafts.save("k", big, 1.0)
    assert await store.drafts.get("k") == big


@pytest.mark.rule("DATA-5")
async def test_a_write_without_space_does_not_fail_the_rest_of_its_batch(
    store: SqliteStore,
) -> None:
    for number in range(10):
        await store.asks.create(Write(new_ask(number)), None)
    await limit_pages(store, 8)
    big = "x" * 200_000
    results = await asyncio.gather(
        *(
            store.drafts.save("k", big, 1.0)
            if number == 5
            else store.asks.change(f"ask_{number}", answer_decision(), delivery=f"Ev{number}")
            for number in range(10)
        ),
        return_exceptions=True,
    )
    assert [n for n, r in enumerate(results) if isinstance(r, BaseException)] == [5]
    assert isinstance(results[5], StoreError)
    for number in range(10):
        stored = await store.asks.get(f"ask_{number}")
        assert stored is not None
        assert stored.revision == (1 if number == 5 else 2)


async def test_a_duplicate_delivery_id_fails_only_its_own_change(store: SqliteStore) -> None:
    for number in range(6):
        await store.asks.create(Write(new_ask(number)), None)
    delivery = new_delivery(1)
    results = await asyncio.gather(
        *(store.asks.change(f"ask_{n}", answer_decision(deliveries=(delivery,))) for n in range(2)),
        *(store.asks.change(f"ask_{n}", answer_decision()) for n in range(2, 6)),
        return_exceptions=True,
    )
    failed = [r for r in results if isinstance(r, BaseException)]
    assert len(failed) == 1
    assert isinstance(failed[0], StoreError)
    assert (await store.counts())["pending"] == 1
    assert len(await store.messages.list_outdated(10)) == 6


IO_ERROR = """
import asyncio, json, os, resource, sys
from answerback.core.ask import Ask
from answerback.core.errors import CommitUnknownError
from answerback.ports.store import Write
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import answer_decision, read_only_decision

async def main(path):
    store = SqliteStore(path)
    await store.open()
    for number in range(5):
        await store.asks.create(Write(new_ask(number)), None)
    free = resource.getrlimit(resource.RLIMIT_FSIZE)
    await store.asks.get("ask_0")  # the reading connection is open, too
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path + "-wal") + 5_000, free[1]))
    changes = [store.asks.change(f"ask_{n}", answer_decision(), delivery=f"Ev{n}") for n in range(5)]
    errors = await asyncio.gather(*changes, return_exceptions=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, free)
    revisions = [(await store.asks.get(f"ask_{n}")).revision for n in range(5)]
    repeats = [(await store.asks.change(f"ask_{n}", read_only_decision, delivery=f"Ev{n}"))[1] for n in range(5)]
    moved = [(await store.asks.change("ask_0", answer_decision()))[0].revision]
    await store.check()
    print(json.dumps({
        "errors": [type(error).__name__ for error in errors],
        "words": str(errors[0]),
        "revisions": revisions,
        "repeats": repeats,
        "moved": moved,
    }))
    sys.stdout.flush()
    os._exit(0)  # nothing is closed, as after a kill

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.rule("DATA-5")
async def test_a_failed_commit_has_an_unknown_outcome_and_the_store_keeps_working(
    path: Path,
) -> None:
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", IO_ERROR, str(path)],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    report = json.loads(done.stdout or done.stderr)
    assert report["errors"] == [CommitUnknownError.__name__] * 5
    assert "failed to read or write" in report["words"]
    assert "is not known" in report["words"]
    # The batch is stored either completely or not at all.
    assert len(set(report["revisions"])) == 1
    assert report["repeats"] == [revision == 2 for revision in report["revisions"]]
    assert report["moved"] == [report["revisions"][0] + 1]
    store = SqliteStore(path)
    await store.open()
    ask = await store.asks.get("ask_0")
    assert ask is not None
    assert ask.revision == report["moved"][0]
    await store.close()
    check = sqlite3.connect(path)
    assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    check.close()


async def test_a_disk_with_space_for_only_small_writes_fails_the_check(store: SqliteStore) -> None:
    await store.check()
    await limit_pages(store, 4)
    await store.asks.create(Write(new_ask()), None)
    with closing(sqlite3.connect(store.database.connections.path)) as db:
        db.execute("UPDATE health SET filling = ''")
        db.commit()
        db.execute("VACUUM")
    await limit_pages(store, 4)
    with pytest.raises(StoreError, match="disk is full"):
        await store.check()
    await limit_pages(store, 1_000)
    await store.check()


@pytest.mark.rule("DATA-1")
async def test_a_damaged_page_fails_only_what_needs_it(store: SqliteStore, path: Path) -> None:
    await store.asks.create(Write(new_ask(1, request={"metadata": {"a": "x" * 50_000}})), None)
    await store.close()
    whole = path.read_bytes()
    at = whole.index(b"x" * 4_000) - 4
    path.write_bytes(whole[:at] + b"\xff" * 4 + whole[at + 4 :])
    await store.open()
    with pytest.raises(StoreError, match="the disk failed to read it,"):
        await store.asks.get("ask_1")
    with pytest.raises(StoreError, match="damaged"):
        await store.asks.change("ask_1", answer_decision())
    await store.asks.create(Write(new_ask(2)), None)
    assert await store.asks.get("ask_2") == new_ask(2)


@pytest.mark.rule("DATA-1")
@pytest.mark.parametrize("is_open", [True, False])
async def test_nothing_is_stored_until_the_file_is_in_its_place_again(
    store: SqliteStore, path: Path, is_open: bool
) -> None:
    """The next start would not find it."""
    await store.asks.create(Write(new_ask()), None)
    if not is_open:
        await asyncio.to_thread(store.database.connections.close)
    away = path.rename(path.with_name("away"))

    async def refused() -> None:
        calls = [store.check(), store.asks.change("ask_1", answer_decision())]
        for call in (*calls, *([] if is_open else [store.asks.get("ask_1")])):
            with pytest.raises(StoreError, match="removed or replaced"):
                await call

    await refused()
    path.mkdir()
    await refused()
    path.rmdir()
    path.write_bytes(b"no database at all" * 1_000)
    await refused()
    away.replace(path)
    moved, _ = await store.asks.change("ask_1", answer_decision())
    assert await store.asks.get("ask_1") == moved


async def test_a_decision_that_stores_another_ask_raises_and_stores_nothing(
    store: SqliteStore,
) -> None:
    await store.asks.create(Write(new_ask(1)), None)

    def swap(ask: Ask | None) -> Decision[None]:
        return Decision(Write(new_ask(2)), None)

    with pytest.raises(AssertionError):
        await store.asks.change("ask_1", swap)
    with pytest.raises(AssertionError):
        await store.asks.change("ask_2", swap)
    assert await store.asks.get("ask_1") == new_ask(1)
    assert await store.asks.get("ask_2") is None


@pytest.mark.rule("RECORD-4")
async def test_the_record_is_append_only(store: SqliteStore, path: Path) -> None:
    await store.asks.create(Write(new_ask()), None)
    await store.asks.change("ask_1", answer_decision())
    other = sqlite3.connect(path)
    changes = ("at = 0.0", "entry = ''", "before = seq")
    for statement in ("DELETE FROM record", *(f"UPDATE record SET {one}" for one in changes)):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            other.execute(statement)
    other.execute("PRAGMA recursive_triggers = ON")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        other.execute("REPLACE INTO record SELECT * FROM record")
    other.close()


def test_a_program_that_exits_without_closing_keeps_its_submitted_writes(path: Path) -> None:
    store = SqliteStore(path)

    async def leave() -> None:
        await store.open()
        left = asyncio.ensure_future(store.asks.create(Write(new_ask()), None))
        await asyncio.sleep(0)
        left.cancel()

    other = sqlite3.connect(path, isolation_level=None)
    asyncio.run(leave())
    worker = store.database._writer
    assert isinstance(worker, JobThread)
    worker._queue.put(None)
    worker._thread.join(5)
    assert other.execute("SELECT id FROM asks").fetchall() == [("ask_1",)]
    other.close()
    store.database.connections.close()
