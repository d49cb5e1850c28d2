"""The real program as a child process, controlled and killed from outside."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from coverage import Coverage

from tests.acceptance.forked_process import Child, forked

PATIENCE = 60.0
"""Seconds within which a process has to act or end: several times what it takes on a busy machine."""
STARTS_WITHIN = 60.0
"""Seconds within which a service starts: it imports a lot, and on a busy machine several of them compete."""
QUIET = {"ANSWERBACK_LOG__LEVEL": "error"}
"""Makes a service log only errors, for tests that never read its log: a full pipe would block it."""
_WIDTH = "200"
"""Columns of a command's terminal, so wide that no sentence that a test looks for is wrapped."""


class NotServingError(AssertionError):
    """A service did not start."""


@dataclass
class Process:
    """A running ``answerback`` command."""

    child: Child
    lines: list[str]

    async def line(self, patience: float = PATIENCE) -> str:
        """Return the next line of its standard output."""
        assert self.child.stdout is not None
        async with asyncio.timeout(patience):
            line = (await self.child.stdout.readline()).decode().rstrip("\n")
        self.lines.append(line)
        return line

    async def ended(self) -> tuple[int, str, str]:
        """Return its exit code and the rest of its output, once it has ended without being killed."""
        async with asyncio.timeout(PATIENCE):
            out, err = await self.child.communicate()
        assert self.child.returncode is not None
        return self.child.returncode, out.decode(), err.decode()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.child.send_signal(number)


@asynccontextmanager
async def ending_with_its_input(child: Child) -> AsyncIterator[None]:
    """Let a program run that ends once its input does."""
    try:
        yield
    finally:
        if child.returncode is None:
            assert child.stdin is not None
            child.stdin.close()
            try:
                async with asyncio.timeout(PATIENCE):
                    await child.communicate()
            except TimeoutError:
                child.kill()
                raise


@asynccontextmanager
async def command(
    *arguments: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    files: int | None = None,
) -> AsyncIterator[Process]:
    """Run a command in a folder; at the end of the context, kill it if it has not ended.

    Args:
        environment: variables to add to this process's own.
        files: how many files it may have open.
    """
    child = await forked(*arguments, folder=folder, environment=environment, open_files=files)
    try:
        yield Process(child, [])
    finally:
        if Coverage.current() is not None:
            await _end_measured(child)
        child.kill()
        await child.communicate()


async def _end_measured(child: Child) -> None:
    """Let a command end normally, because coverage is saved only then."""
    child.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            await child.communicate()


async def run(
    *arguments: str, folder: Path, environment: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Run a command in a folder to its end; return its exit code, standard output and standard error."""
    wide = {"COLUMNS": _WIDTH, **(environment or {})}
    async with command(*arguments, folder=folder, environment=wide) as process:
        return await process.ended()


@asynccontextmanager
async def serving(
    folder: Path, environment: Mapping[str, str] | None = None, *, files: int | None = None
) -> AsyncIterator[tuple[Process, str]]:
    """Run ``answerback serve`` on a free port; yield the process and its address."""
    variables = {"ANSWERBACK_SERVER__PORT": "0", **(environment or {})}
    async with command("serve", folder=folder, environment=variables, files=files) as process:
        first = await process.line(STARTS_WITHIN)
        if not first.startswith("listening on "):
            _, _, err = await process.ended()
            raise NotServingError(f"serve printed {first!r} and then: {err}")
        yield process, first.removeprefix("listening on ")
