"""Commands as real processes that start quickly: forked from a process that has already imported everything.

Importing takes a second of processor time, which would dominate tests that start hundreds of commands. The forked
process runs the command itself, with its own event loop, threads, sockets and database connections.
`tests/acceptance/test_deploying.py` and `tests/meta/test_wheel.py` start the installed program.
"""

from __future__ import annotations

import asyncio
import gc
import io
import multiprocessing
import os
import resource
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any, Final

from answerback.dialects.installed import call_rules, installed_dialects
from answerback.ports.installed_extensions import discover_installed
from answerback.runtime.config import settings_type
from answerback.runtime.plugins import installed_plugins
from answerback.runtime.stores import installed_stores
from answerback_agents.cli import main
from answerback_base.entry_points import all_entry_points
from tests.meta.project import PYTHONPATH

CLOCK_OFF: Final = "CLOCK_OFF"
"""The environment variable that sets the process's clock off by the given number of seconds."""
CONTEXT: Final = multiprocessing.get_context("forkserver")
"""Forks processes from one that has imported everything that commands, and the writers to stores, need."""
CONTEXT.set_forkserver_preload(
    [
        __name__,
        *(command.module for command in main.all_commands().values()),
        *(
            "answerback.cli.serving",
            "answerback_agents.cli.bridged_server",
            "answerback.cli.terminal.walk",
        ),
        *(
            "answerback_agents.cli.ask_and_wait",
            "answerback.cli.checkup",
            "answerback.cli.previews",
        ),
        *("answerback_discord.adapter", "answerback_slack.adapter", "answerback_web.adapter"),
        *("answerback.mcp.server", "answerback_postgres.store"),
        "tests.unit.storage.crash_writer",
    ]
)
settings_type()  # finds the installed plug-ins once, instead of in each process


class Child:
    """A forked command, used as an `asyncio.subprocess.Process` is."""

    stdin: asyncio.StreamWriter | None = None
    stdout: asyncio.StreamReader | None = None
    stderr: asyncio.StreamReader | None = None

    def __init__(self, process: ForkServerProcess) -> None:
        assert process.pid is not None
        self.pid = process.pid
        self.returncode: int | None = None
        self._process = process
        self._ended = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().add_reader(process.sentinel, self._note_the_end)

    def _note_the_end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._process.sentinel)
        self._process.join()
        self.returncode = self._process.exitcode
        self._process.close()
        self._ended.set_result(None)

    async def wait(self) -> int:
        """Return its exit code once it has ended; negative if a signal killed it."""
        await asyncio.shield(self._ended)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):  # it has ended, but that has not been noted yet
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it with -9."""
        self.send_signal(signal.SIGKILL)

    async def communicate(self, data: bytes | None = None) -> tuple[bytes, bytes]:
        """Write to it, and read the rest of its output until it ends."""
        out, err, _, _ = await asyncio.gather(
            _rest(self.stdout), _rest(self.stderr), self._give(data), self.wait()
        )
        return out, err

    async def _give(self, data: bytes | None) -> None:
        if self.stdin is None:
            return
        try:
            self.stdin.write(data or b"")
            await self.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # it ended without reading
        self.stdin.close()


async def _rest(stream: asyncio.StreamReader | None) -> bytes:
    return b"" if stream is None else await stream.read()


@dataclass(frozen=True)
class _File:
    """A file descriptor that is handed to a process."""

    number: int

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (DupFd(self.number),)


def _received(file: Any) -> _File:
    return _File(file.detach())


@dataclass(frozen=True)
class _Start:
    """Everything that a process needs to become the command."""

    arguments: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    files: tuple[_File, _File, _File]
    open_files: int | None
    own_session: bool


async def forked(
    *arguments: str,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: int = DEVNULL,
    stdout: int = PIPE,
    stderr: int = PIPE,
    open_files: int | None = None,
    own_session: bool = False,
    limit: int = 2**16,
) -> Child:
    """Start a command in a folder, with this process's environment and the given variables.

    Args:
        stdin, stdout, stderr: a file descriptor, or what `asyncio.create_subprocess_exec` takes.
        open_files: how many files it may have open.
        own_session: whether it leads its own session, as in a terminal.
        limit: the buffer limit of the output readers, as of `asyncio.StreamReader`.
    """
    ours: list[int | None] = []
    theirs: list[int] = []
    for what, number in ((stdin, 0), (stdout, 1), (stderr, 2)):
        mine, its = (None, theirs[1]) if what == STDOUT else _ends(what, writing=number > 0)
        ours.append(mine)
        theirs.append(its)
    variables = {**os.environ, "PYTHONPATH": PYTHONPATH, **(environment or {})}
    in_, out, err = (_File(number) for number in theirs)
    start = _Start(
        arguments, folder or Path.cwd(), variables, (in_, out, err), open_files, own_session
    )
    process = CONTEXT.Process(target=_run_command, args=(start,))
    await asyncio.to_thread(process.start)
    for what, its in zip((stdin, stdout, stderr), theirs, strict=True):
        if what in {PIPE, DEVNULL}:
            os.close(its)
    child = Child(process)
    child.stdin = await _writer(ours[0])
    child.stdout, child.stderr = await _reader(ours[1], limit), await _reader(ours[2], limit)
    return child


def _ends(what: int, *, writing: bool) -> tuple[int | None, int]:
    """Return our end of a process's stream, if it is a pipe, and the process's end."""
    if what == DEVNULL:
        return None, os.open(os.devnull, os.O_RDWR)
    if what != PIPE:
        return None, what
    reads, writes = os.pipe()
    return (reads, writes) if writing else (writes, reads)


async def _reader(pipe: int | None, limit: int) -> asyncio.StreamReader | None:
    if pipe is None:
        return None
    reader = asyncio.StreamReader(limit)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(pipe, "rb", 0))
    return reader


async def _writer(pipe: int | None) -> asyncio.StreamWriter | None:
    if pipe is None:
        return None
    loop = asyncio.get_running_loop()
    protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
    transport, _ = await loop.connect_write_pipe(lambda: protocol, os.fdopen(pipe, "wb", 0))
    return asyncio.StreamWriter(transport, protocol, None, loop)


def _run_command(start: _Start) -> None:
    """Run the command, in the forked process."""
    if start.own_session:
        os.setsid()
    if start.open_files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (start.open_files, start.open_files))
    for number, file in enumerate(start.files):
        os.dup2(file.number, number)
    for file in start.files:
        if file.number > 2:
            os.close(file.number)
    os.chdir(start.folder)
    os.environ.clear()
    os.environ.update(start.environment)
    sys.stdin, sys.stdout, sys.stderr = _text(0), _text(1), _text(2)
    if off := os.environ.pop(CLOCK_OFF, ""):
        _set_the_clock(float(off))
    _honour_pythonpath()
    sys.argv = ["answerback", *start.arguments]
    gc.freeze()  # no process collects the imported modules again
    main.main()


def _honour_pythonpath() -> None:
    """Import from PYTHONPATH, plug-ins included, as in a process that was started with it."""
    paths = os.environ["PYTHONPATH"].split(os.pathsep)
    if more := [path for path in paths if path not in sys.path]:
        sys.path[:0] = more
        found_once = (all_entry_points, installed_plugins, installed_dialects, installed_stores)
        for discovered in (*found_once, discover_installed, call_rules, main.installed_commands):
            discovered.cache_clear()


def _text(number: int) -> io.TextIOWrapper:
    """Open a standard stream as the interpreter does."""
    return io.TextIOWrapper(
        os.fdopen(number, "rb" if number == 0 else "wb", closefd=False),
        encoding=os.environ.get("PYTHONIOENCODING", "utf-8"),
        errors="backslashreplace" if number == 2 else "strict",
        line_buffering=number == 2 or os.isatty(number),
    )


def _set_the_clock(off: float) -> None:
    real = time.time
    time.time = lambda: real() + off
