"""A disk that fails to read: SQLite may report it as corruption, and nobody is told that a sound file is damaged."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

FAILING_READS = """
import asyncio, ctypes, errno, json, sys
import _sqlite3
from answerback.core.errors import StoreError
from answerback.ports.store import Write
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import answer_decision
from answerback_storage.sqlite.store import SqliteStore

FIELDS = "open delete access path dlopen dlerror dlsym dlclose random sleep time error time64".split()

class Vfs(ctypes.Structure):  # https://www.sqlite.org/c3ref/vfs.html
    _fields_ = [("version", ctypes.c_int), ("file_size", ctypes.c_int), ("path_size", ctypes.c_int),
        ("next", ctypes.c_void_p), ("name", ctypes.c_char_p), ("data", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in FIELDS),
        ("set_system_call", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p))]

arguments = ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64
real = ctypes.CFUNCTYPE(*arguments)(("pread64", ctypes.CDLL(None)))
broken = False

@ctypes.CFUNCTYPE(*arguments, use_errno=True)
def read(*call):
    if not broken:
        return real(*call)
    ctypes.set_errno(errno.EIO)
    return -1

try:
    find = ctypes.CDLL(_sqlite3.__file__).sqlite3_vfs_find
except AttributeError:
    sys.exit("no access to SQLite")
find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
unix = find(None)
for name in (b"pread", b"pread64"):
    Vfs.from_address(unix).set_system_call(unix, name, ctypes.cast(read, ctypes.c_void_p))

async def attempt(doing):
    try:
        await doing
    except StoreError as error:
        return type(error).__name__, str(error)

async def main(path):
    global broken
    store = SqliteStore(path)
    await store.open()
    big = {"metadata": {"a": "x" * 50_000}}
    for number in range(20):
        await store.asks.create(Write(new_ask(number, request=big)), None)
    await store.close()
    await store.open()
    broken = True
    said = [
        await attempt(store.asks.get("ask_1")),
        await attempt(store.asks.change("ask_2", answer_decision())),
        await attempt(store.asks.create(Write(new_ask(30, request=big)), None)),
    ]
    broken = False
    revision = (await store.asks.change("ask_3", answer_decision()))[0].revision
    print(json.dumps([said, revision]))

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.rule("DATA-24")
async def test_a_disk_that_fails_to_read_is_named_before_a_damaged_file(tmp_path: Path) -> None:
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", FAILING_READS, str(tmp_path / "asks.db")],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    if "no access to SQLite" in done.stderr:
        pytest.skip(
            "Python was built with an SQLite of its own, whose reads cannot be made to fail"
        )
    said, revision = json.loads(done.stdout or done.stderr)
    failures = [each for each in said if each is not None]
    assert len(failures) >= 2, said
    for _, text in failures:
        assert "the disk failed to read" in text
        damaged = text.find("damaged")
        assert damaged == -1 or text.index("the disk failed to read") < damaged
        assert "Check the disk and the system's log" in text
    assert revision == 2, "it goes on once the disk can be read again"
