"""Fixtures for real agents, installed from npm: a home for each, and what they need besides the scripted model."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from answerback_client import AsyncClient
from tests.meta.project import PYTHONPATH, ROOT
from tests.recipes.conftest import Person, Served, served

__all__ = ["served"]

BINARIES = ROOT / ".venv" / "agents" / "node_modules" / ".bin"
PATIENCE = float(os.environ.get("HOST_PATIENCE", "150"))
"""Seconds for one run of an agent."""
LATE = "(asked earlier with "
"""A phrase in the text of every late answer."""
NOWHERE = "http://127.0.0.1:9"
OFFLINE = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
}
"""Keeps every agent on loopback: any request elsewhere is refused at once."""


@dataclass
class Home:
    """A home that holds only what a test puts there."""

    folder: Path
    service: Served

    @property
    def project(self) -> Path:
        """The folder in which the agent works."""
        return self.folder / "project"

    async def run(self, *command: str, **environment: str) -> str:
        """Run a program to the end, which has to succeed; return what it prints."""
        async with self.started(
            *command, environment=environment, stdin=DEVNULL, stderr=STDOUT
        ) as process:
            assert process.stdout is not None
            printed: list[bytes] = []
            try:
                async with asyncio.timeout(PATIENCE):
                    while line := await process.stdout.readline():
                        printed.append(line)
                    status = await process.wait()
                assert status == 0
            except BaseException:
                sys.stdout.write(b"".join(printed).decode())  # pytest shows this
                raise
        return b"".join(printed).decode()

    @asynccontextmanager
    async def started(
        self,
        *command: str,
        environment: Mapping[str, str] | None = None,
        stdin: int = PIPE,
        stdout: int = PIPE,
        stderr: int | None = None,
    ) -> AsyncIterator[Process]:
        """Start a program; at the end, kill it and everything that it started."""
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self.project,
            env={**self._environment(), **(environment or {})},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            limit=2**24,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()

    async def connect(self, agent: str) -> None:
        """Run ``answerback connect``, as a person would."""
        command = [sys.executable, "-m", "answerback_agents.cli.main", "connect", agent, "--yes"]
        arguments = ["--url", self.service.url, "--token-env", "ANSWERBACK_TOKEN"]
        await self.run(*command, *arguments)

    def _environment(self) -> Mapping[str, str]:
        return {
            **OFFLINE,
            "HOME": str(self.folder),
            "PATH": f"{BINARIES}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": PYTHONPATH,
            "ANSWERBACK_TOKEN": self.service.token,
        }


@contextmanager
def terminal() -> Iterator[int]:
    """A terminal with nobody at it: it is read, and nothing is typed."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    shown: list[bytes] = []
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            shown.append(os.read(ours, 2**16))
        except OSError:  # no process has it open any more
            loop.remove_reader(ours)

    loop.add_reader(ours, read)
    try:
        yield its
    except BaseException:
        sys.stdout.write(b"".join(shown).decode(errors="replace"))  # pytest shows this
        raise
    finally:
        loop.remove_reader(ours)
        os.close(its)
        os.close(ours)


@pytest.fixture
def home(tmp_path: Path, served: Served) -> Home:
    """An empty home with an empty project."""
    (tmp_path / "project").mkdir()
    return Home(tmp_path, served)


@pytest.fixture
async def person(served: Served) -> AsyncIterator[Person]:
    """Somebody who answers, and waits for an agent that starts slowly."""
    async with AsyncClient(served.url, served.people_token) as front:
        yield Person(front, PATIENCE)
    async with AsyncClient(served.url, served.token) as agent:
        for ask in await agent.open_asks():
            await agent.withdraw(ask.id)
