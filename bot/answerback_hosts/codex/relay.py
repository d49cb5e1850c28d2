"""Relays between a client, on standard input and output, and a `codex app-server` that this starts."""

from __future__ import annotations

import asyncio
import platform
import sys
from asyncio.subprocess import PIPE
from contextlib import suppress

from answerback_agents.bridges.ask_people import RequestAsker
from answerback_agents.cli.bridged_server import (
    client_lines,
    connected,
    print_line,
    read_lines,
    run,
)
from answerback_agents.cli.output import fail, say
from answerback_agents.cli.piped_program import environment_without
from answerback_agents.pipe.lines import MAX_LINE
from answerback_hosts.codex.app_server import CodexBridge


def relay(
    command: list[str], url: str, token_env: str, to: str | None, *, pass_token: bool
) -> None:
    """Relay between a client, on standard input and output, and an app server that this starts."""

    async def relaying() -> None:
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
                fail(f"Cannot start {command[0]}: {error.strerror}. Is Codex installed?")
            assert child.stdin is not None
            assert child.stdout is not None
            people = RequestAsker(client, {"bridge": "codex", "host": platform.node()}, to)
            bridge = CodexBridge(people, late, child.stdin.write, print_line, say)
            try:
                await bridge.run(client_lines(child.stdin), read_lines(child.stdout))
            except BaseException:  # also a signal: the app server must not outlive this process
                with suppress(ProcessLookupError):  # it may have ended just before
                    child.terminate()
                raise
        sys.exit(await child.wait())

    run(relaying())
