"""``answerback bridge`` at work: an agent's server on one side, people on the other, until somebody stops it."""

from __future__ import annotations

import asyncio
import math
import os
import platform
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Final

import aiohttp

from answerback.agents.bridges.ask_people import RequestAsker
from answerback.agents.bridges.codex import CodexBridge
from answerback.agents.bridges.late_answers import LateAnswerSource
from answerback.agents.bridges.opencode import OpencodeBridge
from answerback.agents.bridges.opencode_server import NotOpencodeError, OpencodeServer
from answerback.cli.api_client import START_HINT
from answerback.cli.output import fail, say
from answerback_client import AsyncClient, ClientError, UnauthorizedError, UnreachableError

_TO_START: Final = 20.0
"""Seconds for which a service that is away is called again at the start; later, for as long as it takes."""

_LONGEST_LINE: Final = 64 * 2**20
"""Bytes of one message of Codex or its client."""


def opencode(
    server: str, url: str, token_env: str, to: str | None, directory: str | None, password_env: str
) -> None:
    """Follows an opencode server."""

    async def follow() -> None:
        async with _people(url, token_env) as client, aiohttp.ClientSession() as http:
            password = os.environ.get(password_env) or None
            followed = OpencodeServer(http, server, directory, password)
            source = {"bridge": "opencode", "server": followed.url}
            if directory is not None:
                source["directory"] = directory
            people = RequestAsker(client, source, to)
            await OpencodeBridge(followed, people, _late(url, token_env), say).run()

    _run(follow())


def codex(command: list[str], url: str, token_env: str, to: str | None) -> None:
    """Stands between a client, on standard input and output, and an app server that it starts."""

    async def stand_between() -> None:
        async with _people(url, token_env) as client:
            try:
                child = await asyncio.create_subprocess_exec(
                    *command, stdin=PIPE, stdout=PIPE, limit=_LONGEST_LINE
                )
            except OSError as error:
                fail(f"{command[0]} cannot be started: {error.strerror}. Is Codex installed?")
            assert child.stdin is not None
            assert child.stdout is not None
            people = RequestAsker(client, {"bridge": "codex", "host": platform.node()}, to)
            bridge = CodexBridge(people, _late(url, token_env), child.stdin.write, _print, say)
            try:
                await bridge.run(_typed(child.stdin), child.stdout)
            except asyncio.CancelledError:
                with suppress(ProcessLookupError):  # it may have ended just before
                    child.terminate()
                raise
        sys.exit(await child.wait())

    _run(stand_between())


async def _typed(server: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    """The lines of standard input; where they end, the server's input ends too."""
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for line in reader:
        yield line
    server.close()


def _print(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def _late(url: str, token_env: str) -> LateAnswerSource:
    return LateAnswerSource(url.rstrip("/"), os.environ.get(token_env) or None)


@asynccontextmanager
async def _people(url: str, token_env: str) -> AsyncIterator[AsyncClient]:
    """The service, which answers and knows the token."""
    token = os.environ.get(token_env) or None
    async with AsyncClient(url, token, patience=_TO_START) as first:
        try:
            await first.open_asks(1)
        except UnreachableError as error:
            fail(f"{error} {START_HINT}")
        except UnauthorizedError as error:
            fail(f"{url}: {error} The bridge reads the token from {token_env}.")
    async with AsyncClient(url, token, patience=math.inf) as client:
        yield client


def _run(work: Coroutine[object, object, None]) -> None:
    """Works until it is done, or told to stop: then it may still withdraw what nobody waits for any more."""
    stopped: list[int] = []

    async def until_stopped() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def stop(number: int) -> None:
            stopped.append(number)
            task.cancel()

        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, stop, number)
        await work

    try:
        asyncio.run(until_stopped())
    except* (NotOpencodeError, ClientError) as group:
        fail(str(group.exceptions[0]))
    except* asyncio.CancelledError:
        sys.exit(128 + stopped[0])
