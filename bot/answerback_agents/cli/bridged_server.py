"""Connects an agent's server with people until it is stopped."""

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

from answerback_agents.bridges.ask_people import RequestAsker
from answerback_agents.bridges.codex import CodexBridge
from answerback_agents.bridges.event_server import ForeignServerError
from answerback_agents.bridges.late_answers import LateAnswerSource
from answerback_agents.bridges.openclaw import OpenclawBridge
from answerback_agents.bridges.openclaw_device import Device
from answerback_agents.bridges.openclaw_gateway import OpenclawGateway
from answerback_agents.bridges.opencode import OpencodeBridge
from answerback_agents.bridges.opencode_server import OpencodeServer
from answerback_agents.cli.api_client import START_HINT
from answerback_agents.cli.output import fail, say
from answerback_agents.cli.piped_program import environment_without
from answerback_agents.cli.proved_token import open_session
from answerback_agents.cli.state_folder import state_folder
from answerback_agents.pipe.lines import MAX_LINE, LineTooLongError
from answerback_agents.pipe.service_calls import SUBMIT_PATIENCE
from answerback_client import AsyncClient, ClientError, UnauthorizedError, UnreachableError

_START_PATIENCE: Final = SUBMIT_PATIENCE
"""Seconds for which calls to a service that is down are retried at the start; later, there is no limit."""


def follow_opencode(
    server: str, url: str, token_env: str, to: str | None, directory: str | None, password_env: str
) -> None:
    async def follow() -> None:
        async with _connected(url, token_env) as (client, late), aiohttp.ClientSession() as http:
            password = os.environ.get(password_env) or None
            followed = OpencodeServer(http, server, directory, password)
            source = {"bridge": "opencode", "server": followed.url}
            if directory is not None:
                source["directory"] = directory
            people = RequestAsker(client, source, to)
            await OpencodeBridge(followed, people, late, say).run()

    _run(follow())


def follow_openclaw(
    gateway: str, url: str, token_env: str, to: str | None, gateway_token_env: str
) -> None:
    device = Device.load(state_folder() / "openclaw-device.key")

    async def follow() -> None:
        async with _connected(url, token_env) as (client, late), aiohttp.ClientSession() as http:
            token = os.environ.get(gateway_token_env, "")
            followed = OpenclawGateway(http, gateway, token, device)
            people = RequestAsker(client, {"bridge": "openclaw", "server": followed.url}, to)
            await OpenclawBridge(followed, people, late, say).run()

    _run(follow())


def relay_codex(
    command: list[str], url: str, token_env: str, to: str | None, *, pass_token: bool
) -> None:
    """Relay between a client, on standard input and output, and an app server that this starts."""

    async def relay() -> None:
        async with _connected(url, token_env) as (client, late):
            try:
                child = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=PIPE,
                    stdout=PIPE,
                    limit=MAX_LINE,
                    env=None if pass_token else environment_without([token_env]),
                )
            except OSError as error:
                fail(f"Cannot start {command[0]}: {error.strerror}. Is Codex installed?")
            assert child.stdin is not None
            assert child.stdout is not None
            people = RequestAsker(client, {"bridge": "codex", "host": platform.node()}, to)
            bridge = CodexBridge(people, late, child.stdin.write, _print, say)
            try:
                await bridge.run(_client_lines(child.stdin), _lines(child.stdout))
            except BaseException:  # also a signal: the app server must not outlive this process
                with suppress(ProcessLookupError):  # it may have ended just before
                    child.terminate()
                raise
        sys.exit(await child.wait())

    _run(relay())


async def _client_lines(server: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    """Read the lines of standard input; at their end, close the server's input."""
    reader = asyncio.StreamReader(limit=MAX_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for line in _lines(reader):
        yield line
    server.close()


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while True:
        try:
            line = await reader.readline()
        except ValueError:  # it is longer than the reader's limit
            raise LineTooLongError(
                f"Stopped, because a line has more than {MAX_LINE} bytes."
            ) from None
        if not line:
            return
        yield line


def _print(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


@asynccontextmanager
async def _connected(
    url: str, token_env: str
) -> AsyncIterator[tuple[AsyncClient, LateAnswerSource]]:
    """Connect to the service; ends the command if it cannot be reached or refuses the token."""
    token = os.environ.get(token_env) or None
    async with open_session(url, token, token_env) as http:
        try:
            await AsyncClient(url, http=http, patience=_START_PATIENCE).open_asks(1)
        except UnreachableError as error:
            fail(f"{error} {START_HINT}")
        except UnauthorizedError as error:
            fail(f"{url}: {error} The bridge reads the token from {token_env}.")
        client = AsyncClient(url, http=http, patience=math.inf)
        yield client, LateAnswerSource(url.rstrip("/"), token)


def _run(work: Coroutine[object, object, None]) -> None:
    """Run until done or stopped by a signal; the work is cancelled then, and may still withdraw asks."""
    stopped: list[int] = []
    trouble: Exception | None = None

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
    except* (ForeignServerError, ClientError, LineTooLongError) as group:
        trouble = group.exceptions[0]
    except* asyncio.CancelledError:
        pass
    # Not above: what is raised in an `except*` comes out in a group, which Python 3.11.2 prints as a crash.
    if trouble is not None:
        fail(str(trouble))
    if stopped:
        sys.exit(128 + stopped[0])  # as shells report the end by a signal
