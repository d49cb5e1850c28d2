"""Only one service runs on a database, under any name, and a killed service does not block the next one."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from answerback.core.errors import StoreError
from answerback.ports.store import Write
from answerback_storage.sqlite.exclusive_lock import hold_exclusive_lock
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import new_ask

HOLD = """
import asyncio, sys
from pathlib import Path
from answerback_storage.sqlite.exclusive_lock import hold_exclusive_lock
from answerback_storage.sqlite.store import SqliteStore

async def main(path):
    async with hold_exclusive_lock(path):
        store = SqliteStore(path)
        await store.open()
        print("held", flush=True)
        await asyncio.sleep(60)

asyncio.run(main(Path(sys.argv[1])))
"""

TRY = """
import asyncio, sys
from pathlib import Path
from answerback.core.errors import StoreError
from answerback_storage.sqlite.exclusive_lock import hold_exclusive_lock

async def main(path):
    try:
        async with hold_exclusive_lock(path):
            print("held")
    except StoreError as error:
        print(error)

asyncio.run(main(Path(sys.argv[1])))
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run another process that holds a database and has a store open on it."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"held\n"
            yield child
        finally:
            child.kill()


async def python(program: str, path: Path) -> str:
    """Run a program on a database in another process, and return its output."""
    run = partial(subprocess.run, capture_output=True, text=True, check=False)
    done = await asyncio.to_thread(run, [sys.executable, "-c", program, str(path)])
    printed: str = done.stdout + done.stderr
    return printed


@pytest.mark.rule("DATA-14")
async def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "asks.db"
    with holder(path) as first:
        with pytest.raises(StoreError, match="Another Answerback is running"):
            async with hold_exclusive_lock(path):
                pass
        first.send_signal(signal.SIGKILL)
        first.wait(10)
    async with hold_exclusive_lock(path):
        pass


@pytest.mark.rule("DATA-14")
async def test_symbolic_links_other_spellings_and_deleted_files_do_not_bypass_the_lock(
    tmp_path: Path,
) -> None:
    path = tmp_path / "asks.db"
    (tmp_path / "folder").mkdir()
    link = tmp_path / "folder" / "other.db"
    link.symlink_to(path)
    beside = tmp_path / "elsewhere"
    beside.symlink_to(tmp_path, target_is_directory=True)
    with holder(path):
        for file in tmp_path.glob("*.lock"):
            file.unlink()
        for name in (path, link, beside / "asks.db", tmp_path / "folder" / ".." / "asks.db"):
            with pytest.raises(StoreError, match="Another Answerback"):
                async with hold_exclusive_lock(name):
                    pass


@pytest.mark.rule("DATA-14")
async def test_a_hard_link_is_refused_while_another_service_runs_and_afterwards(
    tmp_path: Path,
) -> None:
    path, other = tmp_path / "asks.db", tmp_path / "other.db"
    with holder(path):
        os.link(path, other)
        with pytest.raises(StoreError, match=r"2 names \(hard links\)"):
            async with hold_exclusive_lock(other):
                pass
    for name in (path, other):
        with pytest.raises(StoreError, match="Remove the other names"):
            async with hold_exclusive_lock(name):
                pass
    other.unlink()
    async with hold_exclusive_lock(path):
        pass


async def test_the_lock_and_sqlites_locks_do_not_interfere(tmp_path: Path) -> None:
    path = tmp_path / "asks.db"
    async with hold_exclusive_lock(path):
        store = SqliteStore(path)
        await store.open()
        await store.asks.create(Write(new_ask()), None)
        # A second attempt in this process must not open and close the file: see `hold_exclusive_lock`.
        with pytest.raises(StoreError, match="Another Answerback"):
            async with hold_exclusive_lock(path):
                pass
        writing = store.database.connections._writer
        assert writing is not None
        writing.execute("BEGIN IMMEDIATE")
        probe = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
        assert "database is locked" in await python(probe, path)
        writing.execute("ROLLBACK")
        await store.close()
        assert (await python(TRY, path)).startswith("Another Answerback"), (
            "closing the store keeps the lock"
        )
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT id FROM asks").fetchall() == [("ask_1",)]
    assert await python(TRY, path) == "held\n"


async def test_the_lock_is_released(tmp_path: Path) -> None:
    for _ in range(2):
        async with hold_exclusive_lock(tmp_path / "asks.db"):
            pass


async def test_a_missing_directory_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be created"):
        async with hold_exclusive_lock(tmp_path / "none" / "asks.db"):
            pass


async def test_a_disk_without_locking_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(_handle: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(StoreError, match="local disk"):
        async with hold_exclusive_lock(tmp_path / "asks.db"):
            pass


@pytest.mark.parametrize("how", ["replaced", "removed", "removed before"])
async def test_if_a_file_is_replaced_while_being_locked_the_new_file_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    path = tmp_path / "asks.db"
    calls = []
    real_flock, real_open = fcntl.flock, os.open

    def flock(handle: int, operation: int) -> None:
        calls.append("flock")
        if len(calls) == 1 and how != "removed before":
            path.rename(tmp_path / "old")
            if how == "replaced":
                path.touch()
        real_flock(handle, operation)

    def opened(name: Path, flags: int, mode: int = 0o777) -> int:
        if how == "removed before" and not flags & os.O_CREAT and not calls:
            calls.append("open")
            path.unlink()
        return real_open(name, flags, mode)

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(os, "open", opened)
    async with hold_exclusive_lock(path):
        monkeypatch.undo()
        assert len(calls) == 2
        assert (await python(TRY, path)).startswith("Another Answerback")
