"""The real program as a child process, started, talked to and killed from outside."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.skewed import CLOCK_OFF
from tests.meta.project import PYTHONPATH

PATIENCE = 30.0
"""Seconds within which a process has to do something or end: several times what it takes on a busy machine."""
STARTS_WITHIN = 60.0
"""Seconds within which a service starts: it imports much, and on a busy machine several of them compete."""


class NotServingError(AssertionError):
    """A service did not start."""


@dataclass
class Process:
    """A running ``answerback`` command."""

    child: asyncio.subprocess.Process
    lines: list[str]

    async def line(self, patience: float = PATIENCE) -> str:
        """The next line of its standard output."""
        assert self.child.stdout is not None
        async with asyncio.timeout(patience):
            line = (await self.child.stdout.readline()).decode().rstrip("\n")
        self.lines.append(line)
        return line

    async def ended(self) -> tuple[int, str, str]:
        """Its exit code and what it printed since, once it has ended by itself."""
        async with asyncio.timeout(PATIENCE):
            out, err = await self.child.communicate()
        assert self.child.returncode is not None
        return self.child.returncode, out.decode(), err.decode()

    def signal(self, number: signal.Signals) -> None:
        """Sends it a signal."""
        self.child.send_signal(number)


async def start(
    *arguments: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    files: int | None = None,
) -> Process:
    """Starts a command in a folder, with nothing of ours in its environment but what is given.

    Args:
        environment: with `CLOCK_OFF`, the machine's clock is off by so many seconds; see `tests.acceptance.skewed`.
        files: how many files it may have open.
    """
    limited = [] if files is None else ["prlimit", f"--nofile={files}"]
    child = await asyncio.create_subprocess_exec(
        *limited,
        sys.executable,
        "-m",
        "tests.acceptance.skewed" if CLOCK_OFF in (environment or {}) else "answerback.cli.main",
        *arguments,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": PYTHONPATH, **(environment or {})},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    return Process(child, [])


@asynccontextmanager
async def command(
    *arguments: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    files: int | None = None,
) -> AsyncIterator[Process]:
    """A command that is killed at the end of the context, if it has not ended by itself."""
    process = await start(*arguments, folder=folder, environment=environment, files=files)
    try:
        yield process
    finally:
        if process.child.returncode is None:
            process.child.kill()
        await process.child.communicate()


@asynccontextmanager
async def serving(
    folder: Path, environment: Mapping[str, str] | None = None, *, files: int | None = None
) -> AsyncIterator[tuple[Process, str]]:
    """``answerback serve`` on a free port, and its address."""
    told = {"ANSWERBACK_SERVER__PORT": "0", **(environment or {})}
    async with command("serve", folder=folder, environment=told, files=files) as process:
        first = await process.line(STARTS_WITHIN)
        if not first.startswith("listening on "):
            _, _, err = await process.ended()
            raise NotServingError(f"serve said {first!r} and then: {err}")
        yield process, first.removeprefix("listening on ")
