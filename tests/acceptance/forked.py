"""Commands as real processes that start in a moment: forked from one that has imported everything.

Importing takes seconds, and a test that kills fifty services would do nothing else. What is forked
runs the command itself, with its own loop, threads, sockets and database connections.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from answerback.cli import main, serve
from tests.acceptance.process import PATIENCE

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__, *(f"answerback.cli.{name}" for name in main.COMMANDS)])
_WIDTH = "200"
"""Columns of a command's terminal: no sentence is broken where a test looks for it."""


async def run(
    *arguments: str, folder: Path, environment: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Runs a command in a folder to its end: its exit code, its output, and what it told people."""
    with tempfile.TemporaryDirectory() as name:
        out, err = Path(name, "out"), Path(name, "err")
        process = _CONTEXT.Process(target=_run, args=(folder, arguments, environment, out, err))
        await asyncio.to_thread(process.start)
        try:
            await asyncio.to_thread(process.join, PATIENCE)
            code = process.exitcode
        finally:
            process.kill()
            await asyncio.to_thread(process.join)
            process.close()
        assert code is not None, f"{arguments} did not end within {PATIENCE} s"
        return code, out.read_text(), err.read_text()


def _run(
    folder: Path,
    arguments: tuple[str, ...],
    environment: Mapping[str, str] | None,
    out: Path,
    err: Path,
) -> None:
    for path, number in ((out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_CREAT | os.O_WRONLY), number)
    os.chdir(folder)
    os.environ.update({"COLUMNS": _WIDTH, **(environment or {})})
    sys.argv = ["answerback", *arguments]
    main.main()


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[ForkServerProcess, str]]:
    """A service in a folder, and its address; killed with -9 at the end of the context."""
    out, into = os.pipe()
    process = await asyncio.to_thread(_start, folder, into)
    try:
        with os.fdopen(out) as lines:
            async with asyncio.timeout(PATIENCE):
                first = await asyncio.to_thread(lines.readline)
            assert first.startswith("listening on "), first
            yield process, first.strip().removeprefix("listening on ")
    finally:
        process.kill()
        await asyncio.to_thread(process.join)
        process.close()


def _start(folder: Path, into: int) -> ForkServerProcess:
    parent, child = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=_serve, args=(folder, child))
    process.start()
    # A file descriptor travels over a socket to a process that is no child of ours.
    multiprocessing.reduction.send_handle(parent, into, process.pid)
    os.close(into)
    parent.close()
    child.close()
    return process


def _serve(folder: Path, pipe: Connection) -> None:
    os.dup2(multiprocessing.reduction.recv_handle(pipe), 1)
    os.chdir(folder)
    os.environ["ANSWERBACK_SERVER__PORT"] = "0"
    os.environ["ANSWERBACK_LOG__LEVEL"] = "error"
    serve.run(config=None, check=False)
