"""The cost of a change in the SQLite store, compared with a bare durable commit in the same run.

Run as ``python -m tests.benchmarks.store``. Everything is written to a temporary directory: set TMPDIR to measure
another disk. What many asks cost, `tests.benchmarks.scale` tells.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median, quantiles

from rich.console import Console
from rich.table import Table

from answerback.core import ask as asks
from answerback.core.actions import Answer, Back
from answerback.core.ask import Ask
from answerback.core.form import AnswerType, Form, Question
from answerback.ports.store import Decision, Write
from answerback_storage.rows import RequestCache
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import ANN

SECONDS = 2.0
"""The duration of each measurement."""
STATE = "x" * 700
"""About as long as an ask's state in JSON."""

FORM = Form(
    questions=tuple(
        Question(id=f"q{n}", text="Which environment shall it be?", answer_type=AnswerType.TEXT)
        for n in range(3)
    )
)
BIG_FORM = Form(
    questions=tuple(
        Question(id=f"q{n}", text="x" * 2_000, answer_type=AnswerType.TEXT) for n in range(100)
    )
)


def click(ask: Ask | None) -> Decision[None]:
    """Answer once, or go Back if the next answer would end the ask."""
    assert ask is not None
    action = Back() if len(ask.walk.answers) == 2 else Answer(value="staging")
    change = asks.apply_action(ask, action, at=time.time(), by=ANN)
    assert isinstance(change, asks.Change)
    return Decision(Write(change.ask, change.entries), None)


def bare(path: Path, batch: int) -> list[float]:
    """Return the seconds per transaction of ``batch`` clicks in plain SQL: one read, one write, one entry, one id."""
    db = sqlite3.connect(path, isolation_level=None)
    for statement in (
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "CREATE TABLE asks (id TEXT PRIMARY KEY, revision INTEGER, state TEXT)",
        "CREATE TABLE record (seq INTEGER PRIMARY KEY, ask_id TEXT, entry TEXT)",
        "CREATE TABLE seen (id TEXT PRIMARY KEY)",
    ):
        db.execute(statement)
    db.executemany("INSERT INTO asks VALUES (?, 1, ?)", [(f"ask_{n}", STATE) for n in range(100)])
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    n = 0
    while (start := time.perf_counter()) < end:
        db.execute("BEGIN IMMEDIATE")
        for _ in range(batch):
            n += 1
            ask = f"ask_{n % 100}"
            db.execute("SELECT revision, state FROM asks WHERE id = ?", (ask,)).fetchone()
            db.execute("UPDATE asks SET revision = ?, state = ? WHERE id = ?", (n, STATE, ask))
            db.execute("INSERT INTO record (ask_id, entry) VALUES (?, ?)", (ask, STATE[:200]))
            db.execute("INSERT INTO seen VALUES (?)", (f"Ev{n}",))
        db.execute("COMMIT")
        times.append(time.perf_counter() - start)
    db.close()
    return times


async def hammer(clients: int, call: Callable[[int, int], Awaitable[object]]) -> list[float]:
    """Return the seconds of each call, by the given number of clients that make one call after the other."""
    times: list[float] = []
    end = time.perf_counter() + SECONDS

    async def client(number: int) -> None:
        n = 0
        while (start := time.perf_counter()) < end:
            await call(number, n)
            times.append(time.perf_counter() - start)
            n += 1

    await asyncio.gather(*(client(number) for number in range(clients)))
    return times


async def fill(store: SqliteStore, count: int, form: Form) -> None:
    """Submit the given number of open asks, each with a deadline, 200 at a time."""
    for first in range(0, count, 200):
        numbers = range(first, min(first + 200, count))
        many = (new_ask(n, form=form, expires_at=1e10 + n) for n in numbers)
        await asyncio.gather(*(store.asks.create(Write(ask), None) for ask in many))


class Report:
    """The table. Every rate is also shown relative to the first row's."""

    def __init__(self) -> None:
        self._table = Table("what", "per second", "of bare", "p50 ms", "p99 ms")
        self._floor: float | None = None

    def add(self, what: str, times: Sequence[float], each: int = 1) -> None:
        """Add a row for calls with these times, each of ``each`` clicks, within `SECONDS`."""
        rate = len(times) * each / SECONDS
        self._floor = self._floor or rate
        p99 = quantiles(times, n=100)[98]
        self._table.add_row(
            what,
            f"{rate:,.0f}",
            f"{rate / self._floor:.2f}",
            f"{median(times) * 1000:.2f}",
            f"{p99 * 1000:.2f}",
        )

    def print(self, title: str) -> None:
        """Print the rows."""
        self._table.title = title
        Console(width=100).print(self._table)


async def clicks(directory: Path, report: Report) -> None:
    """Changes by 1, 32 and 256 clients, and reads."""
    store = SqliteStore(directory / "clicks.db")
    await store.open()
    await fill(store, 1_000, FORM)
    for clients in (1, 32, 256):
        times = await hammer(
            clients,
            lambda number, n: store.asks.change(
                f"ask_{number}", click, delivery=_delivery(number, n)
            ),
        )
        report.add(f"change, {clients} at once", times)
    report.add(
        "get, 32 at once", await hammer(32, lambda number, _: store.asks.get(f"ask_{number}"))
    )
    await store.close()


def _delivery(number: int, n: int) -> str:
    return f"Ev{number}-{n}-{time.perf_counter_ns()}"


async def forms_of_200_kb(directory: Path, report: Report) -> None:
    """Measure if caching parsed requests pays off: changes of asks with large forms, with and without the cache."""
    store = SqliteStore(directory / "big.db")
    await store.open()
    await fill(store, 10, BIG_FORM)
    for what, cache in (("kept", RequestCache()), ("parsed each time", RequestCache(0))):
        store.database.requests = cache
        times = await hammer(10, lambda number, _: store.asks.change(f"ask_{number}", click))
        report.add(f"change, 10 at once, 200 kB form {what}", times)
    await store.close()


def run() -> None:
    """Run all measurements and print them."""
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        report.add("bare FULL commit, one click each", bare(directory / "bare1.db", 1))
        report.add("bare FULL commit, 32 clicks each", bare(directory / "bare32.db", 32), 32)
        asyncio.run(clicks(directory, report))
        asyncio.run(forms_of_200_kb(directory, report))
        report.print("SQLite store")


if __name__ == "__main__":
    run()
