"""Measure if anything takes longer when a database holds very many asks, a tenth of them open.

Run as ``python -m tests.benchmarks.scale [ASKS …]`` (default: 100,000, and with ``BENCH_MILLION=1`` a million), on both
stores (``BENCH_STORES=sqlite`` on one). Two asks are stored as a service does it, one open and one answered, and then
copied by SQL. What is compared with 1,000 asks is the store's part, without HTTP: CPU time, on PostgreSQL together with
that of the server, and there also the pages that the statements read, which no other load changes.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import psycopg

from answerback.core import ask as asks
from answerback.core.actions import Answer
from answerback.core.ask import Ask, Thread
from answerback.ports.claims import SOLE_CLAIM
from answerback.ports.late_answers import SeenState
from answerback.ports.receipt_key import SigningKey, new_private_key
from answerback.ports.search import Search
from answerback.ports.store import Decision, Store, Write
from answerback.ports.surface import Shown
from answerback.service.notify import Hooks
from answerback_receipts.linker import ReceiptLinker
from answerback_receipts.stored_receipts import NewReceipt
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import with_values
from answerback_testing.store_examples import ANN
from tests import postgres
from tests.benchmarks.figures import Figures
from tests.benchmarks.processes import shown
from tests.benchmarks.service import ONE
from tests.benchmarks.slack_clicks import MESSAGE
from tests.postgres import Server, store_at
from tests.stores.receipts import receipt_row

FEW: Final = 1_000
STORES: Final = os.environ.get("BENCH_STORES", "sqlite,postgresql").split(",")
TIMES: Final = 10
"""Calls of an operation in a round."""
ROUNDS: Final = 3
"""Rounds of an operation, after one that warms up."""
_ROWS: Final = 300
"""Rows that an export reads in a round."""
_CACHE_KB: Final = 500_000
"""The most memory that SQLite's pages may take while a file is filled."""
OPEN_OF: Final = 10
"""One of so many asks is open."""
_FIRST: Final = 1_000
"""The number of the first copy. Smaller ones are left for what is stored afterwards."""
_AT_ONCE: Final = 100_000
"""The most copies of a statement: SQLite keeps all of them in a temporary file before it inserts the first."""
_STRIDE: Final = 10
"""Numbers of lines of the record that each copy may use."""

# The columns that differ between copies, by table: ``{i}`` is the number of the copy, ``{id}`` its id, and ``{line}``
# the number before its first line of the record.
_COPIED: Final[Mapping[str, Mapping[str, str]]] = {
    "requests": {"seq": "{i}"},
    "asks": {
        "seq": "{i}",
        "id": "{id}",
        "channel": "'C' || ({i} % 500)",
        "created_at": "{i}",
        "last_line": "{line} + {lines}",
    },
    "record": {"seq": "{line} + {n}", "ask_id": "{id}", "before": "nullif({line} + {n} - 1, {line})"},
    "owed": {"seq": "{i}", "ask_id": "{id}"},
    "receipts": {"seq": "{i}", "n": "{i}"},
}  # fmt: skip
_WORDS: Final = {
    "sqlite": "INSERT INTO asks_words (rowid, words) SELECT i * 2, 'apply step' || i FROM {series}",
    "postgresql": """INSERT INTO asks_words (seq, words) SELECT i, array_to_tsvector(ARRAY['apply', 'step' || i])
        FROM {series}""",
}
"""The words of each copy: one that all have, and one of its own."""


_COUNT_COPIES: Final = f"""INSERT INTO counters SELECT status, 0, count(*) FROM asks WHERE seq >= {_FIRST} GROUP BY 1
    ON CONFLICT (name, slot) DO UPDATE SET n = counters.n + excluded.n"""
_IN_SERVER: Final = """SELECT
    (SELECT array_agg(pid) FROM pg_stat_activity WHERE datname = '{database}' AND backend_type = 'client backend'),
    (SELECT coalesce(sum(shared_blks_hit + shared_blks_read), 0) FROM pg_stat_statements
        WHERE dbid = (SELECT oid FROM pg_database WHERE datname = '{database}'))"""
_COLUMNS: Final = "SELECT column_name FROM information_schema.columns"


class Filler:
    """Copies stored asks by SQL.

    Args:
        run: runs a statement, and returns its rows.
        columns: returns the columns of a table.
    """

    def __init__(
        self,
        kind: str,
        run: Callable[[str], list[tuple[Any, ...]]],
        columns: Callable[[str], list[str]],
    ) -> None:
        self._kind, self._run, self._columns = kind, run, columns

    def copy(self, ask_id: str, first: int, count: int) -> None:
        """Add copies of an ask with the numbers from ``first`` on."""
        [(seq,)] = self._run(f"SELECT seq FROM asks WHERE id = '{ask_id}'")
        lines = self._run(f"SELECT seq FROM record WHERE ask_id = '{ask_id}' ORDER BY seq")
        keys = {"requests": "seq", "asks": "seq", "receipts": "seq"}
        for table in _COPIED:
            key = f"{keys[table]} = {seq}" if table in keys else f"ask_id = '{ask_id}'"
            for n, (line,) in enumerate(lines if table == "record" else [(None,)], 1):
                row = key if line is None else f"seq = {line}"
                self._insert(table, row, first, count, lines=len(lines), n=n)
        series = self._series(first, count)
        self._run(_WORDS[self._kind].format(series=series))

    def _insert(self, table: str, row: str, first: int, count: int, **numbers: int) -> None:
        names = {"i": "i", "id": "'ask_' || i", "line": f"i * {_STRIDE}", **numbers}
        changed = {name: value.format(**names) for name, value in _COPIED[table].items()}
        columns = self._columns(table)
        values = ", ".join(changed.get(name, f"t.{name}") for name in columns)
        series = self._series(first, count)
        into = f"INSERT INTO {table} ({', '.join(columns)})"
        if self._kind == "postgresql":
            into += " OVERRIDING SYSTEM VALUE"
        self._run(f"{into} SELECT {values} FROM {table} AS t, {series} WHERE t.{row}")

    def _series(self, first: int, count: int) -> str:
        last = first + count - 1
        if self._kind == "postgresql":
            return f"generate_series({first}::bigint, {last}) AS numbers (i)"
        return f"""(WITH RECURSIVE numbers (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM numbers
            WHERE i < {last}) SELECT i FROM numbers) AS numbers"""


# --- what is measured ----------------------------------------------------------------------------------


def _end(ask: Ask | None) -> Decision[None]:
    """Answer the last question, with a receipt, as a click does."""
    assert ask is not None
    change = asks.apply_action(ask, Answer(value=True), at=time.time(), by=ANN)
    assert isinstance(change, asks.Change)
    receipt = NewReceipt("{" + " " * 1_500 + "}", "{}")
    return Decision(
        Write(change.ask, change.entries, owed=True, ask_rows=(receipt_row(receipt),)), None
    )


async def _store_two(store: Store) -> None:
    """Store an ask that is open, and one that was answered and collected."""
    for number in (1, 2):
        ask = with_values(shown(number, ONE), id=f"ask_{number}", expires_at=4e9)
        await store.asks.create(Write(ask, asks.request_entry(ask, 1.0)), None)
    await store.asks.change("ask_2", _end)
    await store.asks.save_shown("ask_2", Shown(2, {"channel": "C1", "ts": MESSAGE}, Thread()))
    await store.late_answers.set_seen_state(["ask_2"], SeenState.SEEN, time.time())
    await _linker(store).link_all()


def _linker(store: Store) -> ReceiptLinker:
    return ReceiptLinker(
        store, SigningKey(new_private_key()), SOLE_CLAIM, Hooks().ended.listen, sharing=0.0
    )


class Meter:
    """Measures the store's work: CPU time, here and in the server if there is one, and the pages read there."""

    def __init__(self, server: Server | None = None, database: str = "") -> None:
        self._server, self._database = server, database
        self._began = 0.0
        self._before = (0.0, 0)
        self.found: dict[tuple[str, str], list[float]] = defaultdict(list)
        """By operation and unit, a figure for each round."""

    def start(self) -> None:
        """Begin to measure."""
        self._before = self._in_server()
        self._began = time.process_time()

    def stop(self, what: str, calls: int) -> None:
        """Add a round of so many calls."""
        here = time.process_time() - self._began
        there, pages = (
            now - then for now, then in zip(self._in_server(), self._before, strict=True)
        )
        self.found[what, "ms"].append((here + there) * 1e3 / calls)
        if self._server is not None:
            self.found[what, "pages"].append(pages / calls)

    async def measure(self, what: str, call: Callable[[int], Awaitable[object]]) -> None:
        """Add the rounds of an operation that takes the number of the call."""
        for round in range(ROUNDS + 1):
            self.start()
            for number in range(round * TIMES, (round + 1) * TIMES):
                await call(number)
            if round:
                self.stop(what, TIMES)

    def _in_server(self) -> tuple[float, int]:
        """Return the seconds of CPU time of the server's connections, and the pages that their statements have read."""
        if self._server is None:
            return 0.0, 0
        [(pids, pages)] = self._server.run(_IN_SERVER.format(database=self._database))
        stats = [Path(f"/proc/{pid}/schedstat").read_text("ascii") for pid in pids or ()]
        return sum(int(stat.split()[0]) for stat in stats) / 1e9, int(pages)


async def measured(store: Store, count: int, meter: Meter) -> dict[tuple[str, str], list[float]]:
    """Return what each operation costs with so many asks, of which the first tenth is open."""
    meter.start()
    await store.open()
    meter.stop("start", 1)
    step = max(1, count // OPEN_OF // (TIMES * (ROUNDS + 1)))
    linker = _linker(store)
    person = [("slack", ANN.user_id)]

    async def act(number: int) -> None:
        await store.asks.change(f"ask_{_FIRST + number * step}", _end)

    await linker.link_all()
    await meter.measure("action", act)
    meter.start()
    await linker.link_all()
    meter.stop("link of a receipt", TIMES * (ROUNDS + 1))
    searches: dict[str, Callable[[int], Search]] = {
        "history, first page": lambda _: Search(by=((ANN,),)),
        "search for a word of one ask": lambda n: Search(terms=(f"step{_FIRST + count // 2 + n}",)),
        "search for a word of all": lambda _: Search(terms=("apply",)),
        "search by date, a few asks": lambda n: Search(since=_FIRST + n, until=_FIRST + n + 100.0),
        "search by date, the older half": lambda _: Search(until=_FIRST + count / 2),
    }
    await meter.measure(
        "inbox, first page", lambda _: store.search.list_for_responder(person, None, 50)
    )
    for what, search in searches.items():
        await meter.measure(what, partial(_search, store, search))
    await meter.measure("metrics: counts", lambda _: store.counts())
    await meter.measure("metrics: oldest open ask", lambda _: store.oldest_open())
    await meter.measure("next deadline", lambda _: store.claims.next_due(0.0))
    await _measure_by_row(store, meter)
    await store.close()
    return meter.found


async def _search(store: Store, search: Callable[[int], Search], number: int) -> None:
    await store.search.find(search(number), None, 50)


async def _measure_by_row(store: Store, meter: Meter) -> None:
    """Measure what each row of an export costs, and each ask that is erased."""
    after = ""
    for _ in range(ROUNDS):
        meter.start()
        changed = await store.record.list_changed(after, _ROWS)
        for ask_id in changed.ids:
            await store.asks.get(ask_id)
            await store.record.read(ask_id)
        meter.stop("export, a row", len(changed.ids))
        after = changed.after
    for _ in range(ROUNDS):
        meter.start()
        erasable = await store.erasure.list_erasable(time.time() + 1, 4 * TIMES)
        for ask_id in erasable:
            await store.erasure.erase(ask_id, time.time(), set())
        meter.stop("retention, an ask", len(erasable))


async def in_sqlite(folder: Path, count: int) -> dict[tuple[str, str], list[float]]:
    """Fill a file, and measure."""
    path = folder / f"{count}.db"
    store = SqliteStore(path)
    await store.open()
    await _store_two(store)
    await store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        # One transaction of a million asks is larger than any cache. In a write-ahead log, each page that is read
        # again is looked up among all that were written, and the filling gets slower and slower.
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")
        db.execute(f"PRAGMA cache_size = {-_CACHE_KB}")
        db.execute("BEGIN")

        def columns(table: str) -> list[str]:
            return [name for _, name, *_ in db.execute(f"PRAGMA table_info ({table})")]

        _fill(Filler("sqlite", lambda text: db.execute(text).fetchall(), columns), count)
        db.execute("COMMIT")
    with path.open("rb") as filled:
        os.fsync(filled.fileno())  # else the first commit that is measured waits for all of it
    try:
        return await measured(SqliteStore(path), count, Meter())
    finally:
        path.unlink()


async def in_postgresql(
    server: Server, database: str, count: int
) -> dict[tuple[str, str], list[float]]:
    """Fill a database, and measure."""
    url = server.url(database)
    store = store_at(url)
    await store.open()
    await _store_two(store)
    await store.close()
    with psycopg.connect(url) as db:

        def run(text: str) -> list[tuple[Any, ...]]:
            cursor = db.execute(text.encode())
            return [] if cursor.description is None else cursor.fetchall()

        def columns(table: str) -> list[str]:
            found = db.execute(
                f"{_COLUMNS} WHERE table_name = %s AND is_generated = 'NEVER'".encode(), (table,)
            )
            return [name for (name,) in found]

        # A trigger counts each new row. A million versions of one counter in a transaction take hours.
        db.execute("SET session_replication_role = replica")
        _fill(Filler("postgresql", run, columns), count)
        db.execute(_COUNT_COPIES)
        db.commit()
        db.autocommit = True
        db.execute("VACUUM ANALYZE")
    return await measured(store_at(url), count, Meter(server, database))


def _fill(filler: Filler, count: int) -> None:
    first_ended, end = _FIRST + count // OPEN_OF, _FIRST + count
    for ask_id, first, after in (("ask_1", _FIRST, first_ended), ("ask_2", first_ended, end)):
        for start in range(first, after, _AT_ONCE):
            filler.copy(ask_id, start, min(_AT_ONCE, after - start))


async def main(counts: list[int]) -> None:
    """Compare each number of asks with few, and print a table."""
    figures = Figures("What many asks cost")
    with (
        tempfile.TemporaryDirectory() as folder,
        postgres.server(shared_preload_libraries="pg_stat_statements") as server,
    ):
        server.run("CREATE EXTENSION pg_stat_statements")

        async def at(kind: str, count: int) -> dict[tuple[str, str], list[float]]:
            sys.stderr.write(f"  {kind}: {count:,} asks\n")
            if kind == "sqlite":
                return await in_sqlite(Path(folder), count)
            with server.borrow_database() as database:
                return await in_postgresql(server, database, count)

        for kind in STORES:
            few = await at(kind, FEW)
            for count in counts:
                for (what, unit), found in (await at(kind, count)).items():
                    base, middle = [median(few[what, unit])], [median(found)]
                    who = f"{kind}, {count:,}"
                    shown_unit = f"{unit} (of {FEW:,}: {base[0]:.2f})"
                    figures.add(what, who, middle, shown_unit, base, "that")
    figures.print()


if __name__ == "__main__":
    sizes = [100_000, *[1_000_000] * (os.environ.get("BENCH_MILLION") == "1")]
    asyncio.run(main([int(each) for each in sys.argv[1:]] or sizes))
