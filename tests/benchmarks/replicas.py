"""PostgreSQL against SQLite and the bare driver, and several replicas against one.

Run as ``python -m tests.benchmarks.replicas [PART …]``; the parts are the functions in `PARTS`. Each figure comes with
a baseline from the same rounds. The server is the tests' own, with ``fsync`` on; set TMPDIR to measure another disk. A
ratio is the median of the rounds' ratios, so it differs slightly from the ratio of the two medians shown.

The database, the replicas and the clients share this machine's processors, and the table shows how much each uses. Once
one service, its database and its clients keep nearly all processors busy, a second service can only share them. This
does not measure what several machines achieve together. What a replica costs by itself is told by the CPU time of one
with a third of the clicks at a time, which share fewer statements, and of those that get no clicks.
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
from typing import Final

from answerback.ports.store import Store, Write
from answerback_postgres.connections import MAX_CONNECTIONS, connect
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import new_ask
from tests import postgres
from tests.acceptance.replicas import Town, ended, town
from tests.benchmarks.figures import Figures
from tests.benchmarks.processes import (
    CORES,
    SERVE,
    SLACK_SECONDS,
    Process,
    environment,
    process,
    shown,
    slow_slack,
)
from tests.benchmarks.slack_clicks import FORM, Clicker, hammer
from tests.benchmarks.store import FORM as WORDS
from tests.benchmarks.store import STATE, click
from tests.postgres import Server, store_at

ROUNDS: Final = int(os.environ.get("BENCH_ROUNDS", "8"))
SECONDS: Final = 1.0
"""The length of each burst of clicks."""
PEOPLE: Final = 48
"""The number of people who click at the same time."""
_FOLLOWS: Final = 1 + 2 * SLACK_SECONDS
"""Seconds within which messages are updated after the last click."""
SOME: Final = 50
"""The number of answers to wait for."""


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
    what, found = "changes in a store", rates["postgresql"]
    figures.add(what, "PostgreSQL", found, "/s", rates["bare"], "a bare compare-and-set")
    figures.add(what, "PostgreSQL", found, "/s", rates["sqlite"], "SQLite")


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
        self.idle: list[float] = []
        """Microseconds of CPU time that a click at another service takes one that gets none."""

    def reset(self) -> None:
        """Forget previous measurements."""
        for count in self.rates:
            for measured in (self.rates, self.busy, self.each):
                measured[count].clear()
        self.idle.clear()

    def _used(self, services: Sequence[Process]) -> tuple[float, float, float]:
        """Return the seconds of CPU time used by the services, the database and this process."""
        return sum(up.processor for up in services), _used(self._server), time.process_time()

    async def burst(self, count: int) -> None:
        """Send clicks to the given number of services."""
        services = [up for up, _ in self._up]
        idle = sum(up.processor for up in services[count:])
        before, began = self._used(services[:count]), time.perf_counter()
        clicked = await self._click(count, PEOPLE)
        lasted = time.perf_counter() - began
        serving, storing, clicking = (
            now - then for now, then in zip(self._used(services[:count]), before, strict=True)
        )
        self.rates[count].append(clicked / SECONDS)
        self.busy[count].append((serving / lasted, storing / lasted, clicking / lasted))
        await asyncio.sleep(_FOLLOWS)
        self.each[count].append((self._used(services[:count])[0] - before[0]) / clicked * 1e6)
        if others := services[count:]:
            idle = sum(up.processor for up in others) - idle
            self.idle.append(idle / len(others) / clicked * 1e6)

    async def click(self, count: int, people: int) -> float:
        """Return the microseconds of CPU time that a click of so many people takes so many services."""
        services = [up for up, _ in self._up[:count]]
        before = self._used(services)[0]
        clicked = await self._click(count, people)
        await asyncio.sleep(_FOLLOWS)
        return (self._used(services)[0] - before) / clicked * 1e6

    async def _click(self, count: int, people: int) -> int:
        some = [
            hammer(port, self._clickers[number:people:count], SECONDS)
            for number, (_, port) in enumerate(self._up[:count])
        ]
        return sum(map(len, await asyncio.gather(*some)))


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
            few = []
            for _ in range(ROUNDS):
                await alone.burst(1)
                for count in many.rates:
                    await many.burst(count)
                few.append(await many.click(1, PEOPLE // 3))
    one, what = many.rates[1], "clicks by HTTP"
    figures.add(what, "one on SQLite", alone.rates[1], "/s")
    figures.add(what, "one on PostgreSQL", one, "/s", alone.rates[1], "one on SQLite")
    for count in (2, 3):
        figures.add(what, f"{count} on PostgreSQL", many.rates[count], "/s", one, "one")
    what = "CPU time of a click"
    figures.add(what, "one on SQLite", alone.each[1], "µs")
    for count, each in many.each.items():
        figures.add(what, f"{count} on PostgreSQL", each, "µs", many.each[1], "one")
    figures.add(what, "one, a third of the people", few, "µs", many.each[1], "one")
    figures.add(what, "one that gets no clicks", many.idle, "µs", many.each[1], "one")
    parts = ("services", "PostgreSQL", "clients")
    for count, found in many.busy.items():
        for part, used in zip(parts, zip(*found, strict=True), strict=True):
            figures.add(f"processors of {len(CORES)} in use, {count} replicas", part, used, "")


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
    what = "an action at one, until a long-poll ends"
    figures.add(what, "at the same", [each * 1e3 for each in took[here.url]], "ms")
    at_other = [each * 1e3 for each in took[there.url]]
    figures.add(what, "at another", at_other, "ms", [each * 1e3 for each in took[here.url]], "same")
    figures.add(
        "  of that, after the action was confirmed",
        "at another",
        [each * 1e3 for each in after],
        "ms",
    )


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


PARTS: Final = {part.__name__: part for part in (stores, replicas, waiting)}


def durable_server() -> AbstractContextManager[Server]:
    """Return a database that survives a loss of power, as the one of a service does."""
    return postgres.server(
        fsync="on", full_page_writes="on", shared_buffers="512MB", max_wal_size="4GB"
    )


def run(requested: Sequence[str]) -> None:
    """Run the measurements and print them."""
    figures = Figures("Replicas")
    with durable_server() as server:
        for name in requested or PARTS:
            asyncio.run(PARTS[name](server, figures))
    figures.print()


if __name__ == "__main__":
    run(sys.argv[1:])
