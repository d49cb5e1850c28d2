"""PostgreSQL against SQLite and the bare driver, several replicas against one, and very many open asks against few.

Run as ``python -m tests.benchmarks.replicas [PART …]``; the parts are the functions in `PARTS`. Each figure comes with
a baseline from the same rounds. The server is the tests' own, with ``fsync`` on; set TMPDIR to measure another disk. A
ratio is the median of the rounds' ratios, so it differs slightly from the ratio of the two medians shown.

The database, the replicas and the clients share this machine's processors, and the table shows how much each uses. Once
one service, its database and its clients keep nearly all processors busy, a second service can only share them. This
does not measure what several machines achieve together.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Final

from rich.console import Console
from rich.table import Table

from answerback.core.ask import ANYONE, Destination
from answerback.ports.store import Store, Write
from answerback_postgres.connections import MAX_CONNECTIONS, connect
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import new_ask
from tests import postgres
from tests.acceptance.replicas import Town, ended, town
from tests.benchmarks.processes import SERVE, Process, environment, process, shown, slow_slack
from tests.benchmarks.slack_clicks import FORM, Clicker, hammer
from tests.benchmarks.store import FORM as WORDS
from tests.benchmarks.store import STATE, click
from tests.postgres import Server, store_at

ROUNDS: Final = int(os.environ.get("BENCH_ROUNDS", "8"))
SECONDS: Final = 1.0
"""The length of each burst of clicks."""
PEOPLE: Final = 48
"""The number of people who click at the same time."""
OPEN: Final = int(os.environ.get("BENCH_OPEN", "1000000"))
"""The number of open asks, compared with 100."""
SOME: Final = 50
"""The number of asks to act on, and of answers to wait for."""


class Figures:
    """The measurements, as rows of a table."""

    def __init__(self) -> None:
        self.table = Table("figure", "baseline", "measured", "ratio", "target", title="Replicas")

    def rate(self, figure: str, floor: Sequence[float], rates: Sequence[float], goal: str) -> None:
        """Add a rate per second, next to the baseline from the same rounds."""
        ratio = median(rate / least for rate, least in zip(rates, floor, strict=True))
        self.table.add_row(
            figure, f"{median(floor):,.0f}/s", f"{median(rates):,.0f}/s", f"{ratio:.2f}", goal
        )

    def seconds(
        self, figure: str, floor: Sequence[float], times: Sequence[float], goal: str
    ) -> None:
        """Add a time in milliseconds, next to the baseline."""
        least, each = median(floor) * 1000, median(times) * 1000
        self.table.add_row(
            figure, f"{least:,.1f} ms", f"{each:,.1f} ms", f"{each / least:.2f}", goal
        )

    def note(self, figure: str, text: str) -> None:
        """Add a remark."""
        self.table.add_row(figure, "", text)


# --- one store beside another ------------------------------------------------------------------------


async def stores(server: Server, figures: Figures) -> None:
    """Clicks in a store within one process, without HTTP or a surface."""
    rates: dict[str, list[float]] = {kind: [] for kind in ("bare", "postgresql", "sqlite")}
    with server.database() as name, tempfile.TemporaryDirectory() as folder:
        url = server.url(name)
        async with AsyncExitStack() as stack:
            bare = await _bare(url, stack)
            calls: dict[str, Callable[[int], Awaitable[object]]] = {"bare": bare}
            for kind, store in (
                ("postgresql", store_at(url)),
                ("sqlite", SqliteStore(f"{folder}/asks.db")),
            ):
                await store.open()
                stack.push_async_callback(store.close)
                for number in range(PEOPLE):
                    await store.asks.create(Write(new_ask(number, form=WORDS)), None)
                calls[kind] = _clicks(store)
            for _ in range(ROUNDS):
                for kind, call in calls.items():
                    clients = MAX_CONNECTIONS if kind == "bare" else PEOPLE
                    rates[kind].append(await _rate(clients, call))
    figures.rate(
        "PostgreSQL, beside a bare compare-and-set", rates["bare"], rates["postgresql"], "≥ 0.5"
    )
    figures.rate("PostgreSQL, beside SQLite", rates["sqlite"], rates["postgresql"], "")


def _clicks(store: Store) -> Callable[[int], Awaitable[object]]:
    def one(number: int) -> Awaitable[object]:
        event = f"Ev{number}-{time.perf_counter_ns()}"
        return store.asks.change(f"ask_{number}", click, delivery=event)

    return one


async def _bare(url: str, stack: AsyncExitStack) -> Callable[[int], Awaitable[object]]:
    """Return a compare-and-set that uses only the driver, on the same server and equally durable.

    Each client has a connection and a row. There are as many clients as a store opens connections.
    """
    connections = [await connect(url) for _ in range(MAX_CONNECTIONS)]
    for connection in connections:
        stack.push_async_callback(connection.close)
    await connections[0].execute(
        "CREATE TABLE bare (id text PRIMARY KEY, version bigint, state text)"
    )
    await connections[0].execute(
        "INSERT INTO bare SELECT 'ask_' || n, 0, '' FROM generate_series(0, 99) n"
    )
    versions = [0] * MAX_CONNECTIONS

    async def one(number: int) -> None:
        cursor = await connections[number].execute(
            "UPDATE bare SET version = version + 1, state = $3 WHERE id = $1 AND version = $2 RETURNING 1",
            (f"ask_{number}", versions[number], STATE),
        )
        assert await cursor.fetchone()
        versions[number] += 1

    return one


async def _rate(clients: int, call: Callable[[int], Awaitable[object]]) -> float:
    """Return the calls per second by the given number of clients, each of which makes one call after the other."""
    end = time.perf_counter() + SECONDS

    async def client(number: int) -> int:
        calls = 0
        while time.perf_counter() < end:
            await call(number)
            calls += 1
        return calls

    return sum(await asyncio.gather(*map(client, range(clients)))) / SECONDS


# --- replicas ------------------------------------------------------------------------------------------


class Clicks:
    """Services on one database, and people in Slack who click on some of them."""

    def __init__(self, up: list[tuple[Process, int]], server: Server) -> None:
        self._up, self._server = up, server
        self._clickers = [Clicker(number) for number in range(PEOPLE)]
        self.rates: dict[int, list[float]] = {count: [] for count in range(1, len(up) + 1)}
        self.each: dict[int, list[float]] = {count: [] for count in self.rates}
        """Microseconds of CPU time that a click takes a service."""
        self.busy: dict[int, list[tuple[float, float, float]]] = {count: [] for count in self.rates}
        """The number of processors that the services, the database and the clients keep busy."""

    def reset(self) -> None:
        """Forget previous measurements."""
        for count in self.rates:
            for measured in (self.rates, self.busy, self.each):
                measured[count].clear()

    def _used(self, services: Sequence[Process]) -> tuple[float, float, float]:
        """Return the seconds of CPU time used by the services, the database and this process."""
        return sum(up.processor for up in services), _used(self._server), time.process_time()

    async def burst(self, count: int) -> None:
        """Send clicks to the given number of services."""
        services = [up for up, _ in self._up[:count]]
        before, began = self._used(services), time.perf_counter()
        some = [
            hammer(port, self._clickers[number::count], SECONDS)
            for number, (_, port) in enumerate(self._up[:count])
        ]
        clicked = sum(map(len, await asyncio.gather(*some)))
        lasted = time.perf_counter() - began
        serving, storing, clicking = (
            now - then for now, then in zip(self._used(services), before, strict=True)
        )
        self.rates[count].append(clicked / SECONDS)
        self.each[count].append(serving / clicked * 1e6)
        self.busy[count].append((serving / lasted, storing / lasted, clicking / lasted))


@asynccontextmanager
async def running_services(
    url: str, api_url: str, folder: Path, count: int, server: Server
) -> AsyncIterator[Clicks]:
    """Run the given number of services, with asks that Slack shows."""
    store = store_at(url)
    await store.open()
    for number in range(PEOPLE):
        await store.asks.create(Write(shown(number, FORM)), None)
    await store.close()
    given = environment(folder, api_url) | {"ANSWERBACK_STORAGE__URL": url}
    cores = os.sched_getaffinity(0)
    async with AsyncExitStack() as stack:
        up = []
        for _ in range(count):
            one = await stack.enter_async_context(process(*SERVE, environment=given, cores=cores))
            await one.line()
            up.append((one, int((await one.line()).rpartition(":")[2])))
        yield Clicks(up, server)


@asynccontextmanager
async def three_replicas(server: Server) -> AsyncIterator[Clicks]:
    """Run three services on one database, and yield the people who click, once everything is warm."""
    with server.database() as name, tempfile.TemporaryDirectory() as folder:
        async with (
            slow_slack() as api_url,
            running_services(server.url(name), api_url, Path(folder), 3, server) as clicks,
        ):
            for count in clicks.rates:
                await clicks.burst(count)
            clicks.reset()
            yield clicks


async def replicas(server: Server, figures: Figures) -> None:
    """Clicks by HTTP, on one service and on several."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"sqlite:///{folder}/asks.db"
        async with (
            three_replicas(server) as many,
            slow_slack() as api_url,
            running_services(file, api_url, Path(folder), 1, server) as alone,
        ):
            await alone.burst(1)  # warms up
            alone.reset()
            for _ in range(ROUNDS):
                await alone.burst(1)
                for count in many.rates:
                    await many.burst(count)
    one = many.rates[1]
    figures.rate("one service on PostgreSQL, beside one on SQLite", alone.rates[1], one, "")
    for count in (2, 3):
        figures.rate(f"{count} replicas, beside one", one, many.rates[count], "")
    for count, each in many.each.items():
        figures.note(f"a click takes each of {count} on PostgreSQL", f"{median(each):,.0f} µs")
    figures.note("a click takes a service on SQLite", f"{median(alone.each[1]):,.0f} µs")
    for count, found in many.busy.items():
        serving, storing, clicking = (median(used) for used in zip(*found, strict=True))
        figures.note(
            f"processors ({len(os.sched_getaffinity(0))}) that {count} on PostgreSQL use",
            f"{serving:.2f} they + {storing:.2f} database + {clicking:.2f} clients",
        )


def _used(server: Server) -> float:
    """Return the seconds of CPU time that the server's processes have used, including those that have exited."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            values = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has exited in the meantime
        if str(server.pid) in {values[1], path.parent.name}:
            ticks += sum(map(int, values[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


async def waiting(server: Server, figures: Figures) -> None:
    """Time from an action at one replica to the end of a long-poll, at the same replica and at another."""
    with server.database() as name, tempfile.TemporaryDirectory() as folder:
        async with town(Path(folder), server.url(name), {}) as running:
            here, there = running.replicas
            took: dict[str, list[float]] = {here.url: [], there.url: []}
            after: list[float] = []
            for _ in range(SOME):
                for url, times in took.items():
                    whole, rest = await _answered(running, url)
                    times.append(whole)
                    if url == there.url:
                        after.append(rest)
    figures.seconds(
        "an action at one, until a long-poll at another ends", took[here.url], took[there.url], ""
    )
    figures.note("of that, after the action was confirmed", f"{median(after) * 1000:.1f} ms (≤ 10)")


async def _answered(running: Town, url: str) -> tuple[float, float]:
    """Return the seconds from an action at the first replica, and from its confirmation, until a waiter is notified."""
    body = {
        "name": "ask_user",
        "arguments": {"question": "Go?", "answer_type": "boolean"},
        "to": "web",
    }
    async with running.agent(running.replicas[0].url) as first, running.agent(url) as other:
        async with first.post("/v1/asks", json=body) as response:
            ask_id = (await response.json())["id"]

        async def wait() -> float:
            await ended(other, ask_id)
            return time.perf_counter()

        waiter = asyncio.create_task(wait())
        await asyncio.sleep(0.05)
        began = time.perf_counter()
        action = {"action": "answer", "value": True}
        async with first.post(f"/v1/asks/{ask_id}/actions", json=action) as response:
            assert response.status == 200
        confirmed = time.perf_counter()
        notified = await waiter
    return notified - began, notified - confirmed


# --- very many open asks -------------------------------------------------------------------------------


async def many(server: Server, figures: Figures) -> None:
    """The start of a service and one action, with few and with very many open asks."""
    starts: dict[int, list[float]] = {100: [], OPEN: []}
    acts: dict[int, list[float]] = {100: [], OPEN: []}
    with server.database() as few, server.database() as lots, tempfile.TemporaryDirectory() as name:
        databases = {100: few, OPEN: lots}
        for count, database in databases.items():
            await _fill(server, database, count)
        for number in range(ROUNDS // 2):
            for count, database in databases.items():
                began = time.perf_counter()
                async with town(Path(name), server.url(database), {}, replicas=1) as running:
                    starts[count].append(time.perf_counter() - began)
                    acts[count] += await _acted(running, count, number)
    figures.seconds(f"start, {OPEN:,} open asks beside 100", starts[100], starts[OPEN], "≤ 2")
    figures.seconds(f"an action, {OPEN:,} open asks beside 100", acts[100], acts[OPEN], "≤ 2")


async def _acted(running: Town, count: int, round: int) -> list[float]:
    """Return the seconds of actions on asks that are spread over all."""
    times = []
    async with running.agent() as http:
        for number in range(SOME):
            ask_id = _id(2 + (number * count) // SOME)
            action = {"action": "answer", "value": "x"} if round % 2 == 0 else {"action": "back"}
            began = time.perf_counter()
            async with http.post(f"/v1/asks/{ask_id}/actions", json=action) as response:
                assert response.status == 200, await response.text()
            times.append(time.perf_counter() - began)
    return times


def _id(seq: int) -> str:
    return f"ask_{seq:024x}"


async def _fill(server: Server, database: str, count: int) -> None:
    """Create open asks as copies of one, each with its own deadline, place and record line."""
    store = store_at(server.url(database))
    await store.open()
    web, who = Destination(surface="web"), (ANYONE,)
    ask = new_ask(form=WORDS, to=web, responders=who, shown_revision=1, expires_at=1e10)
    await store.asks.create(Write(ask), None)
    await store.close()
    found = server.run(
        "SELECT column_name FROM information_schema.columns WHERE table_name = 'asks'"
        " AND is_generated = 'NEVER'",
        database,
    )
    columns = [name for (name,) in found]
    own = {
        "seq": "r.seq",
        "id": "'ask_' || lpad(to_hex(r.seq), 24, '0')",
        "due": "t.due + r.seq",
    }
    values = ", ".join(own.get(name, f"t.{name}") for name in columns)
    server.run(
        f"""SET session_replication_role = replica; -- a trigger counts rows one by one
        INSERT INTO requests (request) SELECT request FROM requests, generate_series(1, {count});
        INSERT INTO asks ({", ".join(columns)}) SELECT {values}
            FROM asks t JOIN requests r ON r.seq > t.seq;
        INSERT INTO asks_words SELECT r.seq, t.words FROM asks_words t JOIN requests r ON r.seq > t.seq;
        INSERT INTO record (ask_id, at, kind, entry)
            SELECT a.id, t.at, t.kind, t.entry FROM asks a, record t WHERE a.id <> t.ask_id;
        UPDATE counters SET n = n + {count} WHERE name = 'open'""",
        database,
    )
    server.run("VACUUM ANALYZE", database)


PARTS: Final = {part.__name__: part for part in (stores, replicas, waiting, many)}


def durable_server() -> AbstractContextManager[Server]:
    """Return a database that survives a loss of power, as the one of a service does."""
    return postgres.server(
        fsync="on", full_page_writes="on", shared_buffers="512MB", max_wal_size="4GB"
    )


def run(requested: Sequence[str]) -> None:
    """Run the measurements and print them."""
    figures = Figures()
    with durable_server() as server:
        for name in requested or PARTS:
            asyncio.run(PARTS[name](server, figures))
    Console(width=120).print(figures.table)


if __name__ == "__main__":
    run(sys.argv[1:])
