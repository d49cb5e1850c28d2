"""CPU time, and system calls, of an agent's cycle: create, answer, first read of the outcome, and what follows.

Run as ``python -m tests.benchmarks.cycle [--against COMMIT] [--syscalls]``. The services take turns, phase by phase,
beside a bare aiohttp handler that commits the same body as one row with ``synchronous = FULL``, and beside one without
receipts. CPU time hardly depends on what else runs. ``--syscalls`` counts system calls with strace instead.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import aiohttp

from tests.benchmarks.commits import NOW, checked_out
from tests.benchmarks.figures import Figures
from tests.benchmarks.processes import OTHERS, Process
from tests.benchmarks.service import ONE, answer, served, submit

CALLS: Final = int(os.environ.get("BENCH_CALLS", "200"))
"""Asks in each round."""
ROUNDS: Final = int(os.environ.get("BENCH_ROUNDS", "5"))
FOLLOWS: Final = 1.5
"""Seconds within which everything has happened that follows by itself: receipts are linked."""
ATTACHED: Final = 0.7
"""Seconds within which strace has attached to a process."""
FEWEST: Final = 0.3
"""System calls an ask, below which a kind is left out."""


async def phases(up: Process, http: aiohttp.ClientSession) -> AsyncIterator[str]:
    """Go through the cycle with many asks at a time. Yield the name of each phase after it, and "" at the start."""
    yield ""
    ids = [await submit(http, ONE) for _ in range(CALLS)]
    yield "create"
    for ask_id in ids:
        await answer(up, http, ask_id)
    yield "answer"
    for ask_id in ids:
        async with http.get(f"/v1/asks/{ask_id}") as response:
            await response.read()
    yield "first read"
    await asyncio.sleep(FOLLOWS)
    yield "what follows"


class Tracing:
    """Counts a process's system calls with strace, from one phase to the next."""

    def __init__(self, up: Process) -> None:
        self._pid = str(up.pid)
        self._out = tempfile.NamedTemporaryFile()  # noqa: SIM115 - it lasts as long as this
        self._strace: asyncio.subprocess.Process | None = None

    async def next(self) -> Mapping[str, float]:
        """Return how many system calls of each kind an ask took in the last phase, and begin with the next."""
        if self._strace is not None:
            self._strace.terminate()
            await self._strace.wait()
        rows = [line.split() for line in Path(self._out.name).read_text().splitlines()]
        command = ("strace", "-qq", "-c", "-f", "-p", self._pid, "-o", self._out.name)
        self._strace = await asyncio.create_subprocess_exec(
            *command, stderr=asyncio.subprocess.DEVNULL
        )
        await asyncio.sleep(ATTACHED)
        return {
            row[-1]: int(row[3]) / CALLS
            for row in rows
            if len(row) > 4 and row[3].isdigit() and row[-1] != "total"
        }

    async def end(self) -> None:
        """Let the process go."""
        if self._strace is not None:
            self._strace.terminate()
            await self._strace.wait()
        self._out.close()


async def count_calls(
    up: Mapping[str, tuple[Process, aiohttp.ClientSession]], figures: Figures
) -> None:
    """Count the system calls of one round."""
    for name, (server, http) in up.items():
        async for _ in phases(server, http):
            pass  # warms up
        tracing = Tracing(server)
        async for phase in phases(server, http):
            for call, times in (await tracing.next()).items():
                if phase and times >= FEWEST:
                    figures.add(phase, name, [times], call)
        await tracing.end()


async def time_calls(
    up: Mapping[str, tuple[Process, aiohttp.ClientSession]], figures: Figures
) -> None:
    """Measure the CPU time of several rounds."""
    used: dict[tuple[str, str], list[float]] = defaultdict(list)
    for number in range(ROUNDS + 1):
        for name, (server, http) in up.items():
            before = server.processor
            async for phase in phases(server, http):
                if phase and number:  # the first round warms up
                    used[phase, name].append((server.processor - before) / CALLS * 1e6)
                before = server.processor
    for (phase, name), found in sorted(used.items(), key=lambda each: each[0][0]):
        figures.add(phase, name, found, "µs", used[phase, "bare row"], "a bare row")


async def main(commit: str | None, *, syscalls: bool) -> None:
    """Measure, and print a table."""
    os.sched_setaffinity(0, OTHERS)
    with checked_out(commit) as codes:
        async with AsyncExitStack() as stack:
            contestants: dict[str, Mapping[str, str] | None] = {"bare row": None, **codes}
            contestants[f"{NOW}, no receipts"] = {"ANSWERBACK_RECEIPTS__ENABLED": "false"}
            up = {
                name: await stack.enter_async_context(served(code, "row"))
                for name, code in contestants.items()
            }
            what = "System calls" if syscalls else "CPU time"
            figures = Figures(f"{what} of an agent's cycle, per ask")
            await (count_calls if syscalls else time_calls)(up, figures)
    figures.print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--syscalls", action="store_true")
    given = parser.parse_args()
    asyncio.run(main(given.against, syscalls=given.syscalls))
