"""The figures that the project aims for, each beside its aim and with its baseline in the same run.

Run as ``python -m tests.benchmarks.table [ROW …]``, where a row is a part of its name; all of them take about
five minutes on two quiet cores. Ratios are medians of rounds in which the service and its baseline take turns.
"""

from __future__ import annotations

import asyncio
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from statistics import median
from typing import Final

import aiohttp
from rich.console import Console
from rich.table import Table

from tests.benchmarks import cycle, service
from tests.benchmarks.commits import NOW
from tests.benchmarks.figures import Figures
from tests.benchmarks.processes import (
    CORES,
    OTHERS,
    SERVE,
    Process,
    process,
    slow_slack,
)
from tests.benchmarks.processes import service as serve_shown_asks
from tests.benchmarks.replicas import durable_server, three_replicas
from tests.benchmarks.service import ONE, ROUNDS, call
from tests.benchmarks.slack_clicks import CLIENTS, Clicker, hammer
from tests.budgets import measure
from tests.fakes.discord.server import FakeDiscord
from tests.meta.project import ROOT

ENDING: Final = 40
"""Clicks that end an ask, in each round."""
DISCORD_ASKS: Final = 200
DISCORD_LIMIT: Final = 5
"""Calls that Discord accepts in a window for each channel, as bots observe it."""
DISCORD_WINDOW: Final = 0.5
"""Seconds: a tenth of Discord's, because only what comes on top counts."""
_ENDING: Final = "click that ends an ask, CPU time"
_FIRST: Final = "first answer of a process"
_USUAL: Final = 25
"""Answers of a process, of which the median is usual."""
_REPLICAS: Final = "clicks on replicas"
_REPLICAS_CPU: Final = "  CPU time"
_BURST: Final = f"Discord: {DISCORD_ASKS} asks at once"
NOW_ONLY: Final[service.Codes] = {NOW: {}}


# --- what the other benchmarks do not measure ---------------------------------------------------------


async def ending_clicks(figures: Figures) -> None:
    """CPU time of a click in Slack that ends an ask, with all that follows, with receipts and without."""
    used: dict[str, list[float]] = {"with receipts": [], "without": []}
    count = ENDING * (ROUNDS + 1)
    async with AsyncExitStack() as stack:
        api_url = await stack.enter_async_context(slow_slack())
        up: dict[str, tuple[Process, int]] = {}
        for name in used:
            more = {"ANSWERBACK_RECEIPTS__ENABLED": str(name == "with receipts").lower()}
            given = serve_shown_asks(ONE, api_url, count=count, **more)
            server, _, public, _ = await stack.enter_async_context(given)
            up[name] = server, int(public.rpartition(":")[2])
        for number in range(ROUNDS + 1):
            people = [Clicker(number * ENDING + n, ONE, small=True) for n in range(ENDING)]
            for name, (server, port) in up.items():
                before = server.processor
                # Each starts at the revision that is shown, so both services get the same clicks.
                await hammer(port, [Clicker(each.number, ONE, small=True) for each in people], 0.0)
                await asyncio.sleep(cycle.FOLLOWS)
                if number:  # the first round warms up
                    used[name].append((server.processor - before) / ENDING * 1e6)
    for name, found in used.items():
        figures.add(_ENDING, name, found, "µs", used["without"], "without receipts")


async def discord_burst(figures: Figures) -> None:
    """The time until asks that come at once are all shown in a channel, over what the rate limit allows."""
    allowed = (DISCORD_ASKS - 1) // DISCORD_LIMIT * DISCORD_WINDOW
    async with FakeDiscord() as world, AsyncExitStack() as stack:
        world.person("ann", guild := world.add_guild())
        channel = world.add_channel(guild)
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        settings = {
            "ANSWERBACK_SERVER__PORT": "0",
            "ANSWERBACK_STORAGE__URL": f"sqlite:///{folder}/asks.db",
            "ANSWERBACK_LOG__LEVEL": "error",
            "ANSWERBACK_DISCORD__API_URL": world.api_url,
            "ANSWERBACK_DISCORD__GATEWAY": "false",
            "ANSWERBACK_DISCORD__PUBLIC_KEY": world.application.public_key,
            "DISCORD_BOT_TOKEN": world.application.token,
            "ANSWERBACK_PUBLIC__PORT": "0",
        }
        up = await stack.enter_async_context(process(*SERVE, environment=settings))
        http = await stack.enter_async_context(aiohttp.ClientSession(await up.line()))
        world.rate_limits.limit, world.rate_limits.window = DISCORD_LIMIT, DISCORD_WINDOW

        async def submit(number: int) -> str:
            body = call(
                ONE, f"discord:{channel.id}", responders=["anyone"], conversation=f"{number}"
            )
            async with http.post("/v1/asks", json=body) as response:
                assert response.status == 201, await response.text()
                return str((await response.json())["id"])

        began = time.perf_counter()
        await asyncio.gather(*map(submit, range(DISCORD_ASKS)))
        async with asyncio.timeout(10 * allowed):
            while len(channel.messages) < DISCORD_ASKS:  # noqa: ASYNC110 - the fake signals nothing
                await asyncio.sleep(0.01)
        took = time.perf_counter() - began
    figures.add(_BURST, NOW, [took], "s", [allowed], "what the limit allows")


async def first_answers(figures: Figures) -> None:
    """The first answer of a process beside its usual ones, in several processes."""
    first, usual = list[float](), list[float]()
    for _ in range(ROUNDS):
        async with service.served({}) as (up, http):
            took = []
            for _ in range(_USUAL):
                ask_id = await service.submit(http, ONE)
                began = time.perf_counter()
                await service.answer(up, http, ask_id)
                took.append((time.perf_counter() - began) * 1e3)
        first.append(took[0])
        usual.append(median(took))
    figures.add(_FIRST, NOW, first, "ms", usual, "the median")


async def replicas(figures: Figures) -> None:
    """Clicks on three services with one PostgreSQL, beside those on one of them."""
    os.sched_setaffinity(0, CORES)  # the database's processes have those of this one
    with durable_server() as server:
        async with three_replicas(server) as clicks:
            for _ in range(ROUNDS):
                for count in (1, 3):
                    await clicks.burst(count)
    os.sched_setaffinity(0, OTHERS)
    who = "three"
    figures.add(_REPLICAS, who, clicks.rates[3], "/s", clicks.rates[1], "one")
    figures.add(_REPLICAS_CPU, who, clicks.each[3], "µs", clicks.each[1], "one")
    parts = ("services", "PostgreSQL", "clients")
    for count in (1, 3):
        for part, busy in zip(parts, zip(*clicks.busy[count], strict=True), strict=True):
            figures.add(f"processors of {len(CORES)} in use, {count} replicas", part, busy, "")


async def memory_of_asks(figures: Figures) -> None:
    """The Python heap of an open ask that nobody looks at."""
    found = await asyncio.to_thread(measure.measured, "memory", None)
    figures.add("heap of an open ask", NOW, [found["kB per open ask"]], "kB")


async def _agents_cycle(figures: Figures) -> None:
    async with AsyncExitStack() as stack:
        contestants: dict[str, Mapping[str, str] | None] = {"bare row": None, NOW: {}}
        up = {
            name: await stack.enter_async_context(service.served(code, "row"))
            for name, code in contestants.items()
        }
        await cycle.time_calls(up, figures)


def _of_service(part: str) -> Callable[[Figures], Awaitable[None]]:
    return lambda figures: service.PARTS[part](figures, NOW_ONLY)


# --- the table -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Aim:
    """One row."""

    what: str
    measuring: Callable[[Figures], Awaitable[None]]
    figure: str
    """The figure that the measurement adds, and of whom."""
    who: str
    at_most: float | None = None
    at_least: float | None = None
    unit: str = ""
    """Of the figure itself; empty: the ratio to its baseline counts."""

    def row(self, figures: Figures) -> tuple[str, str, str, str]:
        """Return the row's cells."""
        measured, ratio = figures.found[self.figure, self.who]
        found = measured if self.unit else ratio
        assert found is not None, f"{self.figure} has no baseline"
        if self.at_most is None and self.at_least is None:
            return self.what, f"{found:.2f} ×", "none", ""
        aim = f"≤ {self.at_most:g}" if self.at_least is None else f"≥ {self.at_least:g}"
        is_reached = (self.at_most is None or found <= self.at_most) and (
            self.at_least is None or found >= self.at_least
        )
        unit = self.unit or "×"
        return self.what, f"{found:.2f} {unit}", f"{aim} {unit}", "yes" if is_reached else "no"


_START, _CLICKS = _of_service("start"), _of_service("clicks")
_WAITERS: Final = _of_service("waiters")
_AT_ONCE: Final = f"clicks, {CLIENTS} at once"
_MANY: Final = service.WAITERS[-1]
AIMS: Final = (
    Aim("start to ready, of the imports of its libraries", _START, "start to ready, both chats", NOW, 2.6),
    Aim("idle memory, both chats", _START, "idle memory", NOW, 85, unit="MB"),
    Aim("clicks, 32 at once, of bare bolt", _CLICKS, _AT_ONCE, NOW, at_least=1.5),
    Aim("click, one at a time, p50, of bare bolt", _CLICKS, "  one at a time, p50", NOW, 1.8),
    Aim("clicks with 100 questions an ask, of those with 3", _CLICKS, _AT_ONCE, f"{NOW}, 100 questions", at_least=0.85),
    Aim("click that ends an ask, CPU, receipts on, of off", ending_clicks, _ENDING, "with receipts", 1.15),
    Aim("ask created, CPU, of a bare commit", _agents_cycle, "create", NOW, 2.5),
    Aim("ask answered, CPU, of a bare commit", _agents_cycle, "answer", NOW, 2.5),
    Aim("first read of an outcome, CPU, of a bare commit", _agents_cycle, "first read", NOW, 2.5),
    Aim("first answer of a process, of the median", first_answers, _FIRST, NOW, 2),
    Aim(f"answer → long-poll, {_MANY:,} waiting, of 1", _WAITERS, f"answer → long-poll, {_MANY:,} waiting", NOW, 1.2),
    Aim("memory a waiter", _WAITERS, f"memory a waiter, of {_MANY:,}", NOW, 13, unit="kB"),
    Aim("heap of an open ask that nobody looks at", memory_of_asks, "heap of an open ask", NOW, 0, unit="kB"),
    Aim("Discord: 200 asks at once, of what the limit allows", discord_burst, _BURST, NOW, 1.1),
    Aim("three replicas: clicks, of one's", replicas, _REPLICAS, "three"),
    Aim("three replicas: CPU of a click, of one's", replicas, _REPLICAS_CPU, "three"),
)  # fmt: skip


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


async def main(wanted: Sequence[str]) -> None:
    """Measure the rows, and print the table; what was measured comes before."""
    os.sched_setaffinity(0, OTHERS)
    aims = [aim for aim in AIMS if not wanted or any(word in aim.what for word in wanted)]
    at = f"{_commit()}, Python {platform.python_version()}"
    table = Table("figure", "measured", "aim", "reached", title=f"What was aimed for, at {at}")
    began = time.monotonic()
    for measuring in dict.fromkeys(aim.measuring for aim in aims):
        rows = [aim for aim in aims if aim.measuring is measuring]
        sys.stderr.write(f"  {rows[0].what}\n")
        figures = Figures(rows[0].what)
        await measuring(figures)
        figures.print()
        for aim in rows:
            table.add_row(*aim.row(figures))
    table.caption = f"measured in {(time.monotonic() - began) / 60:.0f} minutes"
    Console(width=120).print(table)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
