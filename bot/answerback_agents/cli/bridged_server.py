"""Shared by the commands of all bridges: connect to the service, and run until stopped."""

from __future__ import annotations

import asyncio
import math
import os
import platform
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol

from answerback_agents.bridges.ask_people import RequestAsker
from answerback_agents.bridges.event_server import ForeignServerError
from answerback_agents.bridges.late_answers import LateAnswerSource
from answerback_agents.cli.api_client import START_HINT
from answerback_agents.cli.output import fail
from answerback_agents.cli.piped_program import environment_without
from answerback_agents.pipe.lines import MAX_LINE, LineTooLongError
from answerback_agents.pipe.saved_files import remove_old_files
from answerback_client import AsyncClient, ClientError, UnauthorizedError, UnreachableError
from answerback_client.blocking_connection import SUBMIT_PATIENCE

_START_PATIENCE: Final = SUBMIT_PATIENCE
"""Seconds for which calls to a service that is down are retried at the start; later, there is no limit."""


LineSink = Callable[[bytes], object]
"""Takes a line."""


class Relay(Protocol):
    """A bridge between a client and a program."""

    async def run(self, client: AsyncIterator[bytes], program: AsyncIterator[bytes], /) -> None:
        """Relay until the program ends."""


def relay_program(
    command: list[str],
    host: str,
    bridge: Callable[[RequestAsker, LateAnswerSource, LineSink], Relay],
    url: str,
    token_env: str,
    to: str | None,
    urgency: str | None,
    *,
    pass_token: bool,
) -> None:
    """Relay between a client, on standard input and output, and a program that this starts; exits as it does.

    Args:
        bridge: builds the bridge; its last argument sends a line to the program.
    """

    async def relay() -> None:
        async with connected(url, token_env) as (client, late):
            try:
                child = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=PIPE,
                    stdout=PIPE,
                    limit=MAX_LINE,
                    env=None if pass_token else environment_without([token_env]),
                )
            except OSError as error:
                fail(f"Cannot start {command[0]}: {error.strerror}. Is it installed?")
            assert child.stdin is not None
            assert child.stdout is not None
            people = RequestAsker(client, {"bridge": host, "host": platform.node()}, to, urgency)
            relayed = bridge(people, late, child.stdin.write)
            try:
                await relayed.run(client_lines(child.stdin), read_lines(child.stdout))
            except BaseException:  # also a signal: the program must not outlive this process
                with suppress(ProcessLookupError):  # it may have ended just before
                    child.terminate()
                raise
        sys.exit(await child.wait())

    run(relay())


async def client_lines(server: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    """Read the lines of standard input; at their end, close the server's input."""
    reader = asyncio.StreamReader(limit=MAX_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for line in read_lines(reader):
        yield line
    server.close()


async def read_lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Read lines to the end.

    Raises:
        LineTooLongError: a line is longer than the reader's limit.
    """
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


def print_line(line: bytes) -> None:
    """Write a line to the client."""
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


@asynccontextmanager
async def connected(
    url: str, token_env: str
) -> AsyncIterator[tuple[AsyncClient, LateAnswerSource]]:
    """Connect to the service; ends the command if it cannot be reached or refuses the token."""
    await asyncio.to_thread(remove_old_files)
    token = os.environ.get(token_env) or None
    named = f"the token in {token_env}"
    async with AsyncClient(
        url, token, patience=math.inf, acknowledges=False, token_name=named
    ) as client:
        first = AsyncClient(url, token, patience=_START_PATIENCE, token_name=named)
        try:
            async with first:
                await first.open_asks(1)
        except UnreachableError as error:
            fail(f"{error} {START_HINT}")
        except UnauthorizedError as error:
            fail(f"{url}: {error} The bridge reads the token from {token_env}.")
        yield client, LateAnswerSource(client)


def run(work: Coroutine[object, object, None]) -> None:
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
    # Not above: an error raised in an `except*` comes out in a group, which Python 3.11.2 prints as a crash.
    if trouble is not None:
        fail(str(trouble))
    if stopped:
        sys.exit(128 + stopped[0])  # as shells report the end by a signal
