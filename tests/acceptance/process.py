"""The real program as a child process, started, talked to and killed from outside."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from coverage import Coverage

from tests.acceptance.forked import Child, forked

PATIENCE = 30.0
"""Seconds within which a process has to do something or end: several times what it takes on a busy machine."""
STARTS_WITHIN = 60.0
"""Seconds within which a service starts: it imports much, and on a busy machine several of them compete."""
QUIET = {"ANSWERBACK_LOG__LEVEL": "error"}
"""What tells a service to log nothing but errors: it waits for nobody to read what it has logged."""
_WIDTH = "200"
"""Columns of a command's terminal: no sentence is broken where a test looks for it."""


class NotServingError(AssertionError):
    """A service did not start."""


@dataclass
class Process:
    """A running ``answerback`` command."""

    child: Child
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


@asynccontextmanager
async def command(
    *arguments: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    files: int | None = None,
) -> AsyncIterator[Process]:
    """A command in a folder, killed at the end of the context if it has not ended by itself.

    Args:
        environment: what is told it beside this process's own variables.
        files: how many files it may have open.
    """
    child = await forked(*arguments, folder=folder, environment=environment, open_files=files)
    try:
        yield Process(child, [])
    finally:
        if Coverage.current() is not None:
            await _measured(child)
        child.kill()
        await child.communicate()


async def _measured(child: Child) -> None:
    """Has a command end by itself: what it ran counts only if it can save that."""
    child.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            await child.communicate()


async def run(
    *arguments: str, folder: Path, environment: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Runs a command in a folder to its end: its exit code, its output, and what it told people."""
    wide = {"COLUMNS": _WIDTH, **(environment or {})}
    async with command(*arguments, folder=folder, environment=wide) as process:
        return await process.ended()


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
