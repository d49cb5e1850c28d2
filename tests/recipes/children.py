"""Programs that recipes' tests start, in their own environments; none of them survives its test."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any


class Child:
    """A program that the recipe's user runs."""

    def __init__(self, process: asyncio.subprocess.Process, errors: Path, seconds: float) -> None:
        self._process, self._errors, self._seconds = process, errors, seconds

    async def line(self) -> str:
        """Return the next line that it prints."""
        assert self._process.stdout is not None
        async with asyncio.timeout(self._seconds):
            line = await self._process.stdout.readline()
        assert line, self._errors.read_text()
        return line.decode().strip()

    async def read_json(self) -> Any:
        """Return the next line, parsed as JSON."""
        return json.loads(await self.line())

    async def call(self, *what: object) -> Any:
        """Send it a line of JSON; return its reply."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(what)}\n".encode())
        return await self.read_json()

    async def kill(self) -> None:
        """Kill it, if it is running."""
        if self._process.returncode is None:
            self._process.kill()
            await self._process.communicate()


@asynccontextmanager
async def child(
    *command: str | Path, folder: Path, environment: Mapping[str, str], seconds: float
) -> AsyncIterator[Child]:
    """Run a program in a folder; each line of its output has to come within the given seconds."""
    errors = folder / "stderr"
    with errors.open("ab") as stderr:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
        )
    started = Child(process, errors, seconds)
    try:
        yield started
    finally:
        await started.kill()
